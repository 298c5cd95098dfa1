"""Makes machines' programs importable: nodes and the join endpoint, which the controller works with."""

from __future__ import annotations

from tests.images.conftest import ROOTFS

assert ROOTFS.is_dir()
