"""Depots for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeDeb = Callable[..., Path]


@pytest.fixture
def make_deb(tmp_path: Path) -> MakeDeb:
    """Function that builds a package that is empty or has ``files``."""

    def make(
        into: Path, name: str, version: str, *, depends: str = "", files: Mapping[str, bytes] | None = None
    ) -> Path:
        tree = tmp_path / "trees" / into.name / name / version
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

    return make
