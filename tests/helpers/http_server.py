"""A local web server that can misbehave as real ones do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Server:
    """What is served and how, and the requests so far.

    Args:
        url: The address of the server, with a slash at its end.
        files: What is served, by name.
        ranges: Whether parts of files are served.
        cuts: How many bytes each of the next answers gets before the connection is cut.
        shift: By how many bytes the parts that are sent begin too early.
        sized: Whether answers say how long they are.
        requests: Name and range of each request, in their order.
    """

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    shift: int = 0
    sized: bool = True
    requests: list[tuple[str, str | None]] = field(default_factory=list)


@contextmanager
def serve() -> Iterator[Server]:
    """A running server."""
    state = Server("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, byte_range = self.path.lstrip("/"), self.headers.get("Range")
            state.requests.append((name, byte_range))
            if name not in state.files:
                self.send_error(404)
                return
            self.answer(state.files[name], byte_range)

        def answer(self, data: bytes, byte_range: str | None) -> None:
            first = 0
            if byte_range and state.ranges:
                first = int(byte_range.removeprefix("bytes=").rstrip("-")) - state.shift
                if first >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(data)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
            self.send_response(206 if byte_range and state.ranges else 200)
            if state.sized:
                self.send_header("Content-Length", str(len(data) - first))
            if byte_range and state.ranges:
                self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
            self.end_headers()
            self.wfile.write(data[first:][: state.cuts.pop(0)] if state.cuts else data[first:])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
