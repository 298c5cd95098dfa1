"""The cache deletes what was not used for long, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from longhaul.toolchain import prune as module
from longhaul.toolchain.cache import ensure_folder
from longhaul.toolchain.prune import KEPT_S, prune


def layer(cache: Path, name: str, *, unused_s: float) -> Path:
    place = cache / name
    (place / "rootfs").mkdir(parents=True)
    os.utime(place, (time.time() - unused_s,) * 2)
    return place


def test_what_was_not_used_for_long_goes(tmp_path: Path) -> None:
    old, young = layer(tmp_path, "old", unused_s=KEPT_S + 60), layer(tmp_path, "young", unused_s=KEPT_S - 60)
    assert prune(tmp_path) == ["old"]
    assert not old.exists()
    assert young.exists()


def test_what_a_machine_lies_over_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = layer(tmp_path, "used", unused_s=KEPT_S + 60)
    monkeypatch.setattr(module, "_mounts", lambda: f"1 2 0:1 / / rw - overlay overlay rw,lowerdir={used}/rootfs\n")
    assert prune(tmp_path) == []
    assert used.exists()


def test_this_machines_mounts_are_seen() -> None:
    assert " / / " in module._mounts()


def test_a_use_is_noted(tmp_path: Path) -> None:
    place = layer(tmp_path, "again", unused_s=KEPT_S + 60)
    assert not ensure_folder(place, lambda into: None, what="it", progress=print)
    assert prune(tmp_path) == []


def test_a_cache_that_is_not_there_has_nothing_to_let_go(tmp_path: Path) -> None:
    assert prune(tmp_path / "none") == []
