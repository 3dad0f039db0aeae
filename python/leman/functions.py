# SPDX-License-Identifier: Apache-2.0
"""Functions that come with the package: ``leman.functions.fetch``, from URL to blob."""

import contextlib
import fcntl
import hashlib
import http.client
import os
import random
import socket
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from leman.blobs import blob
from leman.decorator import Options, Udf, UdfClass, parse_bytes
from leman.policy import retry_transient
from leman.secret import check_names
from leman.web import Redirects, check_headers, fill_headers, wire_url

_SCHEMES = ("http", "https", "file")
_SLOT_WAIT_SECONDS = 0.02


class FetchError(OSError):
    """A URL could not be read. `code` is the status of HTTP, or None."""

    def __init__(self, url, reason, code=None, headers=None):
        super().__init__(f"{url}: {reason}")
        self.url = url
        self.code = code
        self.headers = headers


class TooLargeError(ValueError):
    """A URL holds more than `max_bytes`."""


class _Slots:
    """At most so many requests to a host at once, over all processes of this user and machine.

    A slot is a lock on a file; the system takes it back from a process that dies.
    """

    def __init__(self, host, most):
        folder = os.path.join(tempfile.gettempdir(), f"leman-fetch-{os.getuid()}")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        name = hashlib.sha256(host.encode()).hexdigest()[:16]
        self._paths = [os.path.join(folder, f"{name}-{i}") for i in range(most)]
        self._fd = None

    def _try(self, path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def acquire(self):
        random.shuffle(self._paths)
        while not any(self._try(path) for path in self._paths):
            time.sleep(_SLOT_WAIT_SECONDS * random.uniform(0.5, 1.5))

    def release(self):
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


class _Body:
    """What a URL holds, as a file that is read once, and checked while it is."""

    def __init__(self, url, file, size, max_bytes, release):
        self._url = url
        self._file = file
        self._size = size
        self._max_bytes = max_bytes
        self._release = release
        self._count = 0

    @property
    def remaining(self):
        return None if self._size is None else self._size - self._count

    def read(self, count=-1):
        try:
            piece = self._file.read(count if count >= 0 else None)
        except TimeoutError:
            raise TimeoutError(f"{self._url}: no data within the timeout") from None
        except http.client.HTTPException as error:
            raise ConnectionError(f"{self._url}: {error!r}") from error
        self._count += len(piece)
        if self._max_bytes is not None and self._count > self._max_bytes:
            raise TooLargeError(f"{self._url}: it has more than max_bytes={self._max_bytes}")
        if not piece and count != 0 and self._size is not None and self._count < self._size:
            raise ConnectionResetError(
                f"{self._url}: it ended after {self._count} of {self._size} bytes"
            )
        return piece

    def close(self):
        self._file.close()
        self._release()


class Fetcher:
    """What ``fetch`` calls per row."""

    def __init__(self, timeout, per_host, max_bytes, max_redirects, headers):
        self.timeout = timeout
        self.per_host = per_host
        self.max_bytes = max_bytes
        self.max_redirects = max_redirects
        self.headers = headers

    def setup(self):
        self._headers, credentials = fill_headers({"User-Agent": "leman", **self.headers})
        redirects = Redirects(self.max_redirects, credentials, FetchError)
        self._opener = urllib.request.build_opener(redirects)
        self._opener.addheaders = []

    def __call__(self, url: str):
        if url is None:
            return None
        parts = _split(url)
        wire = None if parts.scheme == "file" else wire_url(url, parts)
        slots = _Slots(parts.netloc, self.per_host) if parts.netloc and self.per_host else None
        with contextlib.ExitStack() as stack:
            if slots is not None:
                slots.acquire()
                stack.callback(slots.release)
            file, size = self._get(url, wire) if wire else self._open_file(url, parts)
            stack.callback(file.close)
            if self.max_bytes is not None and size is not None and size > self.max_bytes:
                raise TooLargeError(
                    f"{url}: it has {size} bytes, more than max_bytes={self.max_bytes}"
                )
            stack.pop_all()
        return _Body(url, file, size, self.max_bytes, slots.release if slots else lambda: None)

    def _open_file(self, url, parts):
        if parts.netloc not in ("", "localhost"):
            raise ValueError(f"{url!r} is a file of another machine")
        file = open(urllib.request.url2pathname(parts.path), "rb")
        return file, os.fstat(file.fileno()).st_size

    def _get(self, url, wire):
        request = urllib.request.Request(wire, headers=self._headers)
        try:
            response = self._opener.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            error.close()
            raise FetchError(
                url, f"HTTP {error.code} {error.msg}", code=error.code, headers=error.headers
            ) from None
        except urllib.error.URLError as error:
            raise _plain(url, error.reason) from error
        except TimeoutError:
            raise TimeoutError(f"{url}: no answer within {self.timeout:g} s") from None
        except http.client.InvalidURL as error:
            raise ValueError(f"{url!r} is no URL: {error}") from None
        except (http.client.HTTPException, ConnectionError) as error:
            raise ConnectionError(f"{url}: {error!r}") from error
        return response, response.length


def _split(url):
    try:
        parts = urllib.parse.urlsplit(url.strip())
    except ValueError as error:
        raise ValueError(f"{url!r} is no URL: {error}") from None
    if parts.scheme not in _SCHEMES:
        raise ValueError(f"{url!r} is no URL of http, https or file")
    if parts.scheme != "file" and not parts.hostname:
        raise ValueError(f"{url!r} names no host")
    return parts


def _plain(url, reason):
    """A failure before there was an answer, as the error that says whether it may pass."""
    if isinstance(reason, TimeoutError):
        return TimeoutError(f"{url}: {reason}")
    if isinstance(reason, ConnectionError):
        return ConnectionError(f"{url}: {reason}")
    if isinstance(reason, socket.gaierror) and reason.errno == socket.EAI_AGAIN:
        return ConnectionError(f"{url}: {reason}")
    made = FetchError(url, reason)
    made.errno = getattr(reason, "errno", None) or 0
    return made


def _check(name, value, least):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
        raise ValueError(f"{name} is a number of at least {least}, not {value!r}")
    return value


class _Fetch(UdfClass):
    """``fetch`` fills a column of blobs from a column of URLs: http, https or file.

    It may be used as it is, or called with options:

    timeout: seconds without data after which a request has failed.
    retries: how often a request is repeated that failed by the network or a busy server.
    per_host: requests to one host at the same time, over all workers; None does not limit them.
    max_bytes: a URL that holds more fails; a number or a text as "1GiB".
    max_redirects: how many are followed; never away from HTTP.
    headers: sent with each request, and stored with the function; {NAME} is the secret NAME.
    secrets: names of environment variables whose values headers are given where they are sent.
    on_error: as that of ``leman.udf()``, instead of retries.
    """

    def __init__(self):
        super().__init__(Fetcher, self._options(3, None, []))

    def __repr__(self):
        return "leman.functions.fetch"

    @staticmethod
    def _options(retries, on_error, secrets):
        # The results are those of the URLs: options are no part of the version.
        return Options(
            data_type=blob(),
            version="leman.functions.fetch/1",
            secrets=secrets,
            num_cpus=0.25,  # it waits for others most of the time
            on_error=on_error or retry_transient(max_attempts=retries + 1),
        )

    def __call__(
        self,
        *,
        timeout=30.0,
        retries=3,
        per_host=8,
        max_bytes=None,
        max_redirects=5,
        headers=None,
        secrets=None,
        on_error=None,
    ):
        secrets = check_names(secrets)
        fetcher = Fetcher(
            _check("timeout", timeout, 0.001),
            None if per_host is None else int(_check("per_host", per_host, 1)),
            None if max_bytes is None else parse_bytes(max_bytes, "max_bytes"),
            int(_check("max_redirects", max_redirects, 0)),
            check_headers(headers or {}, secrets),
        )
        retries = int(_check("retries", retries, 0))
        return Udf(fetcher, self._options(retries, on_error, secrets))

    __call__.__qualname__ = "leman.functions.fetch"  # errors of arguments name it


fetch = _Fetch()
