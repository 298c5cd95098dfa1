"""Imports the machines' own programs from their place in the image's tree."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOTFS = Path(__file__).parents[2] / "images" / "rootfs"

# No bytecode beside the sources: the whole tree goes into the image.
sys.pycache_prefix = sys.pycache_prefix or str(ROOTFS.parents[1] / ".lab" / "bytecode")
sys.path.insert(0, str(ROOTFS / "usr" / "local" / "lib" / "longhaul"))


@pytest.fixture(name="rootfs")
def _rootfs() -> Path:
    return ROOTFS


@pytest.fixture(name="vault")
def _vault() -> Iterator[object]:
    from tests.images.fakes import FakeVault

    with FakeVault() as vault:
        yield vault
