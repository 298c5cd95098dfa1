"""State of tunnels, derived from charon's list of associations."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest

from lab.hypervisor import tunnels
from lab.hypervisor.tunnels import Watched
from lab.hypervisor.vici import Tree


def association(*children: Tree, established: int = 60) -> Tree:
    return {
        "state": "ESTABLISHED",
        "established": str(established),
        "child-sas": {f"link-{number}": child for number, child in enumerate(children)},
    }


def child(number: int, state: str = "INSTALLED", *, bytes_in: int = 0, bytes_out: int = 0) -> Tree:
    return {"uniqueid": str(number), "state": state, "bytes-in": str(bytes_in), "bytes-out": str(bytes_out)}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    now = {"time": 1000.0, "monotonic": 0.0}
    fake = SimpleNamespace(time=lambda: now["time"], monotonic=lambda: now["monotonic"])
    monkeypatch.setattr(tunnels, "time", fake)
    return now


def test_a_tunnel_is_up_while_it_has_an_installed_child(clock: dict[str, float]) -> None:
    watched = Watched()
    watched.see([association()])
    assert (watched.state().up, watched.state().since) == (False, 0.0)
    # A new daemon finds the tunnel up; charon knows since when.
    watched.see([association(child(1), established=60)])
    assert (watched.state().up, watched.state().since) == (True, 940.0)
    clock["time"] = 1100.0
    watched.see([association(child(1, "REKEYED"), child(2))])
    assert watched.state().since == 940.0
    watched.see([association(child(2, "DELETING"))])
    assert (watched.state().up, watched.state().since) == (False, 1100.0)


def test_bytes_are_kept_over_rekeying(clock: dict[str, float]) -> None:
    watched = Watched()
    watched.see([association(child(1, bytes_in=10, bytes_out=20))])
    watched.see([association(child(1, bytes_in=15, bytes_out=20), child(2, bytes_in=1))])
    watched.see([association(child(2, bytes_in=3, bytes_out=4))])
    assert (watched.state().bytes_in, watched.state().bytes_out) == (18, 24)


def test_an_end_that_refuses_is_dialled_less_and_less_often(clock: dict[str, float]) -> None:
    watched = Watched()
    dialled = []
    while clock["monotonic"] < 60:
        if watched.due():
            dialled.append(clock["monotonic"])
        clock["monotonic"] += 0.5
    waits = [later - earlier for earlier, later in pairwise(dialled)]
    assert dialled[0] == 0
    assert waits[0] <= 2
    assert waits[0] < waits[1] < waits[2]
    assert 8 <= min(waits[3:]) <= max(waits) <= 10.5
    watched.see([association(child(1))])
    watched.see([])
    assert watched.due()
