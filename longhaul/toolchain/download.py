"""Downloads official releases. Each needs a checksum, and is kept only when it matches."""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import Download, Tool

_ANSWER_S = 5.0
"""Time limit for the beginning of a server's answer, seconds (name look-up, connection, TLS and redirects together)."""
_STALL_S = 30.0
"""Longest stall of a running download, seconds."""
_CHUNK = 1 << 20


Received = Callable[[str, int, "int | None"], None]
"""Called while a file is downloaded: URL, bytes so far, and all bytes if the server tells."""


def quiet(url: str, done: int, total: int | None) -> None:
    """Report nothing of a download."""


class UnreachableError(Exception):
    """The server cannot be reached from here, or does not have the file. ``status`` is its HTTP status, if it
    answered."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Response(Protocol):
    """The part of an HTTP response that is used here."""

    length: int | None
    """Bytes that are still to be read; None when the server does not tell."""

    def read(self, amount: int, /) -> bytes: ...
    def close(self) -> None: ...


def _urlopen(url: str) -> Response:
    # The address is from tools.toml, and the content is checked against a checksum.
    request = urllib.request.Request(url, headers={"User-Agent": "longhaul"})  # noqa: S310
    # urlopen() keeps the proxies of its first call in the process.
    response: Response = urllib.request.build_opener().open(request, timeout=_STALL_S)
    return response


@dataclass
class _Opening:
    """A request that waits for its answer in a thread, since a name look-up has no time limit."""

    url: str
    response: Response | None = None
    error: Exception | None = None
    abandoned: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        try:
            response = _urlopen(self.url)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = error
            return
        with self.lock:
            self.response = response
            if self.abandoned:
                response.close()


@dataclass
class Downloader:
    """Fetches releases. It remembers servers that did not answer, so that each is waited for only once."""

    answer_s: float = _ANSWER_S
    unreachable: dict[str, str] = field(default_factory=dict)

    def fetch(self, tool: Tool, download: Download, *, into: Path) -> None:
        """Put the tool's binaries into the folder ``into``.

        Raise :class:`UnreachableError` when the file cannot be downloaded, :class:`SetupError` when its checksum is
        wrong.
        """
        received = into / ".download"
        try:
            self._receive(download, received, what=f"{tool.name} {tool.version}")
            names = [binary.name for binary in tool.binaries]
            if download.folder is None:
                received.rename(into / names[0])
            else:
                _extract(received, {f"{download.folder}/{name}": into / name for name in names}, url=download.url)
        finally:
            received.unlink(missing_ok=True)
        for binary in tool.binaries:
            (into / binary.name).chmod(0o755)

    def _receive(self, download: Download, path: Path, *, what: str) -> None:
        actual = self.receive(download.url, path)
        if actual != download.sha256:
            raise SetupError(
                f"{what}: the file at {download.url} is not the pinned one.\n"
                f"Its SHA-256 is {actual}, tools.toml says {download.sha256}.\n"
                "If a proxy here answers with a page of its own, build from source instead: set "
                "LONGHAUL_TOOLS_FROM=module and run it again. Otherwise do not trust that file."
            )

    def receive(self, url: str, path: Path, *, received: Received = quiet) -> str:
        """Write the content of ``url`` into the file ``path``, unchecked, and return its SHA-256 in hexadecimal. Raise
        :class:`UnreachableError` when it cannot be downloaded completely."""
        digest, done = hashlib.sha256(), 0
        response = self._open(url)
        total = response.length
        try:
            received(url, done, total)
            with path.open("wb") as file:
                while chunk := _read(response, url=url):
                    digest.update(chunk)
                    file.write(chunk)
                    done += len(chunk)
                    received(url, done, total)
        finally:
            response.close()
        # Reading in pieces, Python takes a connection that ends early for the end of the file (http.client, `read`).
        if total is not None and done < total:
            raise UnreachableError(f"the download of {url} broke off after {done} of {total} bytes")
        return digest.hexdigest()

    def _open(self, url: str) -> Response:
        host = urllib.parse.urlsplit(url).netloc
        if host in self.unreachable:
            raise UnreachableError(self.unreachable[host])
        opening = _Opening(url)
        thread = threading.Thread(target=opening.run, daemon=True)
        thread.start()
        thread.join(self.answer_s)
        with opening.lock:
            opening.abandoned = opening.response is None
        if opening.response is not None:
            return opening.response
        if isinstance(opening.error, urllib.error.HTTPError):
            status = opening.error.code
            raise UnreachableError(f"{host} answered HTTP {status} for {url}", status=status)
        reason: object = opening.error or f"no answer within {self.answer_s:g} s"
        reason = getattr(reason, "reason", reason)
        self.unreachable[host] = f"{host} cannot be reached ({getattr(reason, 'strerror', None) or reason})"
        raise UnreachableError(self.unreachable[host])


def _read(response: Response, *, url: str) -> bytes:
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise UnreachableError(f"the download of {url} broke off ({error})") from error


def _extract(archive: Path, wanted: Mapping[str, Path], *, url: str) -> None:
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                target = wanted.get(str(PurePosixPath(member.name)))
                source = tar.extractfile(member) if target is not None and member.isreg() else None
                if target is not None and source is not None:
                    with target.open("wb") as file:
                        shutil.copyfileobj(source, file, _CHUNK)
    except tarfile.TarError as error:
        raise SetupError(f"{url} is not a readable archive: {error}") from error
    missing = [name for name, path in wanted.items() if not path.exists()]
    if missing:
        raise SetupError(f"{url} holds no {', '.join(missing)}; correct `folder` in tools.toml")
