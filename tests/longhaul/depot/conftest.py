"""Depots for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support import debs

MakeDeb = Callable[..., Path]


@pytest.fixture
def make_deb(tmp_path: Path) -> MakeDeb:
    """Function that builds a package that is empty or has ``files``."""

    def make(
        into: Path, name: str, version: str, *, depends: str = "", files: Mapping[str, bytes] | None = None
    ) -> Path:
        tree = tmp_path / "trees" / into.name / name / version
        return debs.make_deb(tree, into, name, version, depends=depends, files=files)

    return make
