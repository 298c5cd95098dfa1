"""Inotify instances: raised where that is allowed, counted by making them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from lab import inotify
from lab.state import LabError


def test_a_few_can_be_had_and_are_given_back() -> None:
    assert inotify.at_hand(3)
    assert all(inotify.at_hand(inotify.MACHINE) for _ in range(60)), "more in all than Linux gives by itself"


def test_all_of_them_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def inotify_init1(self, flags: int) -> int:
            ctypes.set_errno(24)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Full())
    assert not inotify.at_hand(1)


def test_the_limit_is_raised_and_that_is_said(tmp_path: Path) -> None:
    limit = tmp_path / "max_user_instances"
    limit.write_text("128\n")
    said: list[str] = []
    inotify.make_room(1, say=said.append, limit=limit)
    assert limit.read_text() == f"{inotify.RAISED}\n"
    assert "raised from 128 to 8192" in said[0]
    inotify.make_room(1, say=said.append, limit=limit)
    assert len(said) == 1


def test_what_may_not_be_raised_stays_and_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in most containers."""

    def fixed(*_: object) -> int:
        raise OSError(30, "Read-only file system")

    limit = tmp_path / "max_user_instances"
    limit.write_text("128\n")
    monkeypatch.setattr(Path, "write_text", fixed)
    said: list[str] = []
    inotify.make_room(1, say=said.append, limit=limit)
    assert "stay at 128" in said[0]
    monkeypatch.setattr(inotify, "at_hand", lambda wanted: wanted < 80)
    with pytest.raises(LabError, match="may have 128 inotify instances, and this wants 80 more"):
        inotify.make_room(80, say=said.append, limit=limit)
