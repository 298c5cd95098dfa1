"""A folder of Debian packages as a flat archive that apt reads: its index and Release file beside the packages."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from lab.toolchain.cache import sha256_file
from lab.toolchain.process import output_of

# apt refuses dates of the future and wonders at ones that go back; the index tells what is new by its checksums.
_DATE = "Thu, 01 Jan 1970 00:00:00 UTC"


def index(folder: Path, *, suite: str, arch: str) -> None:
    """Write ``Packages``, ``Packages.gz`` and ``Release`` for the ``.deb`` files in ``folder``."""
    packages = "\n".join(_stanza(path) for path in sorted(folder.glob("*.deb"))).encode()
    files = {"Packages": packages, "Packages.gz": gzip.compress(packages, mtime=0)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    head = [
        "Origin: Longhaul depot",
        f"Suite: {suite}",
        f"Codename: {suite}",
        f"Date: {_DATE}",
        f"Architectures: {arch}",
        "Acquire-By-Hash: no",
        "SHA256:",
    ]
    sums = [f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}" for name, content in files.items()]
    (folder / "Release").write_text("\n".join((*head, *sums)) + "\n", encoding="utf-8")


def _stanza(path: Path) -> str:
    control = output_of(["dpkg-deb", "--field", str(path)]).rstrip("\n")
    return f"{control}\nFilename: ./{path.name}\nSize: {path.stat().st_size}\nSHA256: {sha256_file(path)}\n"
