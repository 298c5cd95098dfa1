"""Turns a folder of Debian packages into a flat archive that apt reads: index and Release file beside the packages."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

from longhaul.toolchain.cache import sha256_file
from longhaul.toolchain.process import output_of

# apt refuses dates in the future and distrusts dates that go back. It detects new content by the index's checksums.
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


def versions(folder: Path) -> dict[str, str]:
    """Return the packages of an indexed folder with their versions. Several versions of a package are joined by
    commas."""
    text = (folder / "Packages").read_text(encoding="utf-8")
    by_package: dict[str, str] = {}
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if re.match(r"(Package|Version): ", line))
        if fields:
            name, version = fields["Package"], fields["Version"]
            by_package[name] = f"{by_package[name]}, {version}" if name in by_package else version
    return by_package


def _stanza(path: Path) -> str:
    control = output_of(["dpkg-deb", "--field", str(path)]).rstrip("\n")
    return f"{control}\nFilename: ./{path.name}\nSize: {path.stat().st_size}\nSHA256: {sha256_file(path)}\n"
