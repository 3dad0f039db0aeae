# SPDX-License-Identifier: Apache-2.0
"""A server of numbered payloads on the loopback, which counts what it is asked for."""

import contextlib
import http.server
import threading
from urllib.parse import parse_qs, unquote, urlsplit


def payload(number, size):
    """Bytes that differ between numbers, made cheaply."""
    block = (number * 2654435761 % 2**32).to_bytes(4, "little") * 256
    return (block * (size // len(block) + 1))[:size]


class Server(http.server.ThreadingHTTPServer):
    """`/<number>?size=` gives a payload; other parameters spoil the first answers.

    fail=503&times=2     that status, twice
    cut=10               the body ends after so many bytes, once
    to=URL, loop=1       a redirection, and one without end
    plain=1              no Content-Length: the connection is closed at the end
    chunked=1            no Content-Length: in chunks
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.asked = []
        self.headers = []  # of each request
        self.running = self.most_running = 0
        self.hold_after = None
        self.held = threading.Event()
        self.release = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def count(self, path):
        with self.lock:
            return sum(asked == path for asked in self.asked)

    def handle_error(self, request, client_address):
        pass  # clients that go away are part of the tests


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def do_GET(self):
        server = self.server
        with server.lock:
            server.asked.append(self.path)
            server.headers.append(dict(self.headers))
            before = server.asked.count(self.path) - 1
            total = len(server.asked)
            server.running += 1
            server.most_running = max(server.running, server.most_running)
        self._counted = True
        try:
            if server.hold_after is not None and total > server.hold_after:
                server.held.set()
                server.release.wait(60)
            self._answer(before)
        finally:
            self._count_out()

    def _count_out(self):
        with self.server.lock:
            self.server.running -= self._counted
        self._counted = False

    def _answer(self, before):
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if "to" in asked or "loop" in asked:
            self.send_response(302)
            self.send_header("Location", asked.get("to", self.path))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if "fail" in asked and before < int(asked.get("times", 1 << 30)):
            self.send_response(int(asked["fail"]))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        data = payload(int(unquote(parts.path)[1:]), int(asked.get("size", 100)))
        self.send_response(200)
        if "plain" in asked:
            self.send_header("Connection", "close")
        elif "chunked" in asked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if "chunked" in asked:
            data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
        if "cut" in asked and before == 0:
            self.wfile.write(data[: int(asked["cut"])])
            self.close_connection = True
            return
        self.wfile.write(data[:-1])
        self._count_out()  # before the client has everything, and asks again
        self.wfile.write(data[-1:])
        if "plain" in asked:
            self.close_connection = True


@contextlib.contextmanager
def serving():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
