# SPDX-License-Identifier: Apache-2.0
"""What ``leman.functions.fetch`` sends: URLs as HTTP has them, and headers, some with secrets."""

import os
import re
import string
import urllib.parse
import urllib.request

from leman import _core

# As Request spells them. Headers that a secret was put into are credentials, too.
_CREDENTIALS = {"Authorization", "Cookie", "Proxy-authorization"}
_PORTS = {"http": 80, "https": 443}
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LIKE_SECRETS = re.compile(r"TOK|KEY|SECRET|PASS|PWD|AUTH|CRED|COOKIE", re.IGNORECASE)
_SECRET_CHARS_MIN = 8  # shorter values stand in texts by chance
_NOT_IN_HOSTS = re.compile(r"[\x00-\x20\x7f]")


def wire_url(url, parts):
    """A URL for a request: ASCII, what is beyond it and spaces percent-encoded, hosts by IDNA."""
    if "@" in parts.netloc:
        raise ValueError(f"{url!r} names a user; headers= takes what a server asks for")
    host = parts.netloc
    try:
        if parts.port is not None and not 0 < parts.port:
            raise ValueError(f"its port is {parts.port}")
        if not host.isascii():
            host = host.encode("idna").decode()
    except ValueError as error:  # UnicodeError is one
        raise ValueError(f"{url!r} is no URL: {error}") from None
    if _NOT_IN_HOSTS.search(host):
        raise ValueError(f"{url!r} is no URL: its host has a space or a control character")
    path, query = (urllib.parse.quote(text, safe=string.punctuation) for text in parts[2:4])
    return urllib.parse.urlunsplit((parts.scheme, host, path, query, ""))


def check_headers(headers, names):
    """The headers that ``fetch`` was given; {NAME} stands for the secret of that name.

    They are stored with the function: one that has a secret's value is refused.
    """
    places = set()
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"headers is texts by text, unlike that of {name!r}")
        places.update(_PLACE.findall(value))
        _refuse_held(name, value, names)
    for name in sorted(places - set(names)):
        raise ValueError(f"headers has {{{name}}}, and secrets= does not name {name}")
    for name in names:
        if name not in places:
            raise ValueError(f"secrets has {name!r}, and no header has {{{name}}}")
    return dict(headers)


def _refuse_held(header, text, names):
    for name, value in os.environ.items():
        like = len(value) >= _SECRET_CHARS_MIN and _LIKE_SECRETS.search(name)
        if value and value in text and (like or name in names):
            raise _core.InvalidError(
                f"fetch(): the header {header} holds the value of the environment variable {name}, "
                f"and would be stored with it; write {{{name}}} in its place, and "
                f'secrets=["{name}"]'
            )


def fill_headers(headers):
    """(the headers with secrets in their places, those that must not reach other servers)."""
    filled = {
        name: _PLACE.sub(lambda place: os.environ[place[1]], value)
        for name, value in headers.items()
    }
    secret = {name.capitalize() for name, value in headers.items() if filled[name] != value}
    return filled, _CREDENTIALS | secret


def _same_server(before, after):
    """Whether a redirect stays where credentials were meant to go; to HTTPS it may rise."""
    before, after = urllib.parse.urlsplit(before), urllib.parse.urlsplit(after)
    ports = [parts.port or _PORTS[parts.scheme] for parts in (before, after)]
    if before.hostname != after.hostname:
        return False
    if before.scheme == after.scheme:
        return ports[0] == ports[1]
    return after.scheme == "https" and ports == [80, 443]


class Redirects(urllib.request.HTTPRedirectHandler):
    """Bounded, never away from HTTP, and without credentials to another server."""

    def __init__(self, most, credentials, fail):
        self.max_redirections = most
        self.max_repeats = most
        self.inf_msg = f"after {most} redirects, the last one: "
        self._credentials = credentials
        self._fail = fail

    def redirect_request(self, request, file, code, message, headers, url):
        told = f"it is redirected to {url!r}, which is"
        if urllib.parse.urlsplit(url).scheme not in _PORTS:
            raise self._fail(request.full_url, f"{told} not HTTP", code=code)
        try:
            same = _same_server(request.full_url, url)
        except ValueError as error:  # of its port
            raise self._fail(request.full_url, f"{told} no URL: {error}", code=code) from None
        made = super().redirect_request(request, file, code, message, headers, url)
        if made is not None and not same:
            for name in self._credentials:
                made.remove_header(name)
        return made
