"""Debian packages made for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def make_deb(
    tree: Path, into: Path, name: str, version: str, *, depends: str = "", files: Mapping[str, bytes] | None = None
) -> Path:
    """Build a package, which is empty or has ``files``, in the folder ``into``; its content is laid out in ``tree``."""
    (tree / "DEBIAN").mkdir(parents=True)
    fields = {
        "Package": name,
        "Version": version,
        "Architecture": "all",
        "Maintainer": "Nobody <nobody@example.org>",
        "Description": "made up",
    }
    fields |= {"Depends": depends} if depends else {}
    (tree / "DEBIAN" / "control").write_text("".join(f"{key}: {value}\n" for key, value in fields.items()))
    for file, content in (files or {}).items():
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_bytes(content)
    path = into / f"{name}_{version}_all.deb"
    into.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, path], check=True, capture_output=True)
    return path
