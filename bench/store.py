"""A store of objects on loopback that counts: Amazon's protocol for readers, as far as GET, HEAD and ranges go.

    with Store(folder) as store:
        staffa.open(f"{store.url}/table.staffa").to_table()
        print(store.counts())

Every object is a file of the folder; whoever asks may read. The server is a process of its own, so that its CPU time is
not that of the reader. `latency` holds every request; `bits` a second pass over the link, all connections together.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import threading
import time
import urllib.request
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

PIECE = 1 << 16


@dataclass(frozen=True)
class Counts:
    """What the store was asked for since the last time."""

    #: GET and HEAD.
    requests: int
    #: Of objects, headers apart.
    bytes: int


class _Link:
    """Bytes pass one after another at a rate."""

    def __init__(self, bits: float) -> None:
        self.rate = bits / 8
        self.free_at = 0.0
        self.lock = threading.Lock()

    def passed(self, count: int) -> None:
        """Waits until so many bytes have passed."""
        with self.lock:
            self.free_at = max(self.free_at, time.monotonic()) + count / self.rate
            wait = self.free_at - time.monotonic()
        if wait > 0:
            time.sleep(wait)


def _handler(folder: Path, latency: float, link: _Link | None) -> type[BaseHTTPRequestHandler]:
    counts = {"requests": 0, "bytes": 0}
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *arguments: Any) -> None:
            """Nothing is logged."""

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            if self.path == "/counts":
                with lock:
                    body = json.dumps(counts).encode()
                    counts.update(requests=0, bytes=0)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            else:
                self.answer(body=True)

        def answer(self, body: bool) -> None:
            path = folder / self.path.split("?")[0].removeprefix("/bucket/")
            if not path.is_file():
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            size = path.stat().st_size
            start, end = _range(self.headers.get("Range"), size)
            with lock:
                counts["requests"] += 1
                counts["bytes"] += end - start if body else 0
            time.sleep(latency)
            self.send_response(206 if self.headers.get("Range") else 200)
            self.send_header("Content-Length", str(end - start))
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
            self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
            self.end_headers()
            if body:
                self.send(path, start, end)

        def send(self, path: Path, start: int, end: int) -> None:
            with path.open("rb") as file:
                if link is None:
                    self.wfile.flush()
                    self.connection.sendfile(file, start, end - start)
                    return
                file.seek(start)
                while start < end:
                    piece = file.read(min(PIECE, end - start))
                    link.passed(len(piece))
                    self.wfile.write(piece)
                    start += len(piece)

    return Handler


def _range(header: str | None, size: int) -> tuple[int, int]:
    """The first byte, and the one after the last."""
    wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", header or "")
    if not wanted:
        return 0, size
    first, last = wanted.groups()
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(int(last) + 1, size) if last else size


def _serve(folder: Path, latency: float, bits: float, port: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(folder, latency, _Link(bits) if bits else None))
    server.daemon_threads = True
    port.send(server.server_port)
    server.serve_forever()


class Store:
    """The store of a folder, and the settings by which clients find it."""

    def __init__(self, folder: Path, latency: float = 0, bits: float = 0) -> None:
        mine, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_serve, args=(folder, latency, bits, theirs), daemon=True)
        self._process.start()
        #: Where it listens.
        self.address = f"127.0.0.1:{mine.recv()}"
        self.url = "s3://bucket"

    def __enter__(self) -> Store:
        settings = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        os.environ.update(settings, AWS_ENDPOINT_URL=f"http://{self.address}", AWS_EC2_METADATA_DISABLED="true")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def counts(self) -> Counts:
        """Requests and bytes since the last call."""
        with urllib.request.urlopen(f"http://{self.address}/counts") as answer:
            return Counts(**json.load(answer))
