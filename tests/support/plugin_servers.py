"""GitHub and get.pulumi.com on loopback: a proxy leads to both, and their certificates are of the test's authority."""

from __future__ import annotations

import hashlib
import io
import json
import ssl
import tarfile
import threading
from dataclasses import dataclass, field
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from lab.cloud.pki import ensure_pki
from longhaul.toolchain.plugin_sources import PluginSource, load_sources
from longhaul.toolchain.spec import machine_arch

EXECUTABLE = b"#!/bin/sh\n"
"""Executable in an archive."""
NAMES = ("api.github.com", "github.com", "objects.githubusercontent.com", "get.pulumi.com")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer of a server to requests of one URL."""

    body: bytes = b""
    status: int = 200
    location: str = ""
    sent: int | None = None
    """Bytes of the body after which the server closes the connection; None for all."""
    held: threading.Event | None = None
    """Event that the server awaits before it answers."""
    asked: threading.Event = field(default_factory=threading.Event)
    """Set by the first request."""


@cache
def archive_of(package: str, content: bytes = EXECUTABLE) -> bytes:
    """Return a plugin's archive, the same at each call: its packing has a time."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo(f"pulumi-resource-{package}")
        member.mode, member.size = 0o755, len(content)
        tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class PluginServers:
    """Both servers, while it is entered."""

    def __init__(self, folder: Path) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        """URLs in the order of the requests."""
        self._pki = ensure_pki(folder, NAMES)
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self, self._pki.server_context()))
        self._proxy.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()

    def environ(self) -> dict[str, str]:
        """Return the variables of somebody whose way out is a proxy with an authority of its own."""
        proxy = f"http://127.0.0.1:{self._proxy.server_port}"
        return {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(self._pki.ca_certificate), "LONGHAUL_OFFLINE": ""}

    def publish(self, package: str, version: str, *, released: bytes = b"", mirrored: bytes = b"") -> PluginSource:
        """Publish a plugin for all architectures: at GitHub with the digest of ``released``, and at the mirror; by
        default the same archive."""
        source = load_sources()[package]
        released = released or archive_of(package)
        assets = []
        for arch in ("amd64", "arm64"):
            assets.append({"name": source.archive(version, arch), "digest": f"sha256:{sha256(released)}"})
            github, mirror = source.urls(version, arch)
            self.answers[github] = Answer(body=released)
            self.answers[mirror] = Answer(body=mirrored or released)
        self.answers[source.release(version)] = Answer(body=json.dumps({"assets": assets}).encode())
        return source

    def count(self, word: str) -> int:
        """Return the number of requests whose URL has the word."""
        return sum(word in url for url in self.asked)


def urls_of(package: str, version: str) -> tuple[str, str, str]:
    """Return the URLs of a plugin's release, of its archive at GitHub, and of the mirror's, for this machine."""
    source = load_sources()[package]
    return source.release(version), *source.urls(version, machine_arch())  # type: ignore[return-value]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, servers: PluginServers, context: ssl.SSLContext, *connection: Any) -> None:
        self._servers, self._context, self._name = servers, context, ""
        super().__init__(*connection)

    def do_CONNECT(self) -> None:
        self._name = self.path.removesuffix(":443")
        if self._name not in NAMES:
            self.send_error(502)
            return
        self.send_response(200)
        self.end_headers()
        self.connection = self._context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
        self.close_connection = False

    def do_GET(self) -> None:
        url = f"https://{self._name}{self.path}"
        self._servers.asked.append(url)
        answer = self._servers.answers.get(url, Answer(status=404))
        answer.asked.set()
        if answer.held is not None:
            answer.held.wait(60)
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.location:
            self.send_header("Location", answer.location)
        self.end_headers()
        self.wfile.write(answer.body[: answer.sent])
        self.close_connection = answer.sent is not None

    def log_message(self, format: str, *args: object) -> None:
        return
