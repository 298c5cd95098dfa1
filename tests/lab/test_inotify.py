"""Inotify instances: counted by making them."""

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


def test_what_cannot_be_had_is_said_and_the_limit_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "max_user_instances"
    limit.write_text("128\n")
    monkeypatch.setattr(inotify, "at_hand", lambda wanted: wanted < 80)
    inotify.check_room(79, limit=limit)
    with pytest.raises(LabError, match="needs 80 more inotify instances, and root may have 128 in all"):
        inotify.check_room(80, limit=limit)
    assert limit.read_text() == "128\n"
