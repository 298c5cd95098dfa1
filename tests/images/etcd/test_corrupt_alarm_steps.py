"""The alarm CORRUPT: who may go while it is on, and when it is lifted, without etcd."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from etcd import checks as etcd_checks
from etcd import corrupt_alarm
from etcd import remove as etcd_remove
from etcd.client import Etcdctl, EtcdError, EtcdMembers, EtcdMemberStatus, Member
from machine.config import client_url, peer_url

from contract.documents.node import NodeConfig

ADDRESSES = {f"e-etcd-{index}": f"10.0.1.{10 + index}" for index in range(5)}
NODE = NodeConfig(
    machine="e-etcd-0",
    role="etcd",
    index=0,
    address=ADDRESSES["e-etcd-0"],
    version="3.6.8",
    stores={"etcd": ADDRESSES},
)
MEMBERS = tuple(
    Member(id=id_, name=name, learner=False, peer_urls=(peer_url(at),), client_urls=(client_url(at),))
    for id_, (name, at) in enumerate(ADDRESSES.items(), start=1)
)
NOSPACE = {"memberID": 1, "alarm": 1}


def corrupt(*ids: int) -> list[dict[str, int]]:
    return [{"memberID": id_, "alarm": 2} for id_ in ids]


@dataclass(frozen=True, kw_only=True)
class FakeEtcdctl(Etcdctl):
    """An etcd cluster of five whose members all tell of its alarms, as etcdctl does."""

    certificate: Path = Path()
    authority: Path = Path()
    alarmed: list[dict[str, int]] = field(default_factory=list)
    members: list[Member] = field(default_factory=lambda: list(MEMBERS))
    silent: tuple[str, ...] = ()
    leads: int = 1
    moved: list[tuple[str, int]] = field(default_factory=list)

    def first_cluster(self, endpoints: Any) -> EtcdMembers | None:
        return self.cluster(next(iter(endpoints)))

    def cluster(self, endpoint: str) -> EtcdMembers:
        return EtcdMembers(id=12, members=tuple(self.members), endpoint=endpoint)

    def status(self, endpoint: str) -> EtcdMemberStatus:
        return EtcdMemberStatus(member=1, cluster=12, leader=self.leads, learner=False, version="3.6.8", db_size=4)

    def ailment(self, endpoint: str) -> str:
        if any(client_url(ADDRESSES[name]) == endpoint for name in self.silent):
            return "context deadline exceeded"
        words = "".join({1: "NOSPACE ", 2: "CORRUPT "}[one["alarm"]] for one in self.alarmed)
        return f"Active Alarm(s): {words}" if words else ""

    def move_leader(self, endpoint: str, to: int) -> None:
        self.moved.append((endpoint, to))

    def remove(self, endpoint: str, member: int) -> None:
        self.members[:] = [one for one in self.members if one.id != member]

    def run(self, endpoint: str, *arguments: str) -> Any:
        if arguments == ("alarm", "disarm"):
            self.alarmed.clear()
        return {"alarms": self.alarmed}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_remove, "PATIENCE_S", 0.0)


@pytest.mark.parametrize(
    ("without", "alarmed", "silent", "survives"),
    [
        ("e-etcd-4", corrupt(5), (), True),
        ("e-etcd-3", corrupt(5), (), False),
        ("e-etcd-4", corrupt(4, 5), (), True),
        ("e-etcd-4", corrupt(4, 5), ("e-etcd-0",), False),
        ("e-etcd-4", corrupt(0), (), False),
        ("e-etcd-4", [*corrupt(5), NOSPACE], (), True),
        ("e-etcd-4", [NOSPACE], (), False),
    ],
    ids=["it", "another", "one of two", "too few", "nobody knows", "the quota as well", "the quota"],
)
def test_only_who_is_named_may_go(
    without: str, alarmed: list[dict[str, int]], silent: tuple[str, ...], survives: bool
) -> None:
    etcdctl = FakeEtcdctl(alarmed=alarmed, silent=silent)
    found = etcd_checks.survival(NODE, etcdctl, without=without)
    assert found.survives == survives
    assert survives or alarmed == [NOSPACE] or "alarm CORRUPT" in found.reason
    removed = etcd_remove.remove(NODE, FakeEtcdctl(alarmed=list(alarmed), silent=silent), name=without, if_dead=True)
    assert removed.removed == survives
    assert not removed.alive


def test_the_alarm_goes_with_the_last_member_that_it_names() -> None:
    etcdctl = FakeEtcdctl(alarmed=corrupt(4, 5))
    assert etcd_remove.remove(NODE, etcdctl, name="e-etcd-4").removed
    assert etcdctl.alarmed == corrupt(4, 5)
    assert etcd_remove.remove(NODE, etcdctl, name="e-etcd-3").removed
    assert etcdctl.alarmed == []


def test_a_removal_that_was_cut_off_lifts_it_the_next_time() -> None:
    etcdctl = FakeEtcdctl(alarmed=corrupt(5), members=list(MEMBERS[:4]))
    assert etcd_remove.remove(NODE, etcdctl, name="e-etcd-4").removed
    assert etcdctl.alarmed == []


@pytest.mark.parametrize("alarmed", [[], corrupt(0), [*corrupt(9), NOSPACE], corrupt(9, 1)])
def test_what_is_still_true_is_not_lifted(alarmed: list[dict[str, int]]) -> None:
    etcdctl = FakeEtcdctl(alarmed=list(alarmed))
    assert not corrupt_alarm.lift(etcdctl, etcdctl.cluster("here"))
    assert etcdctl.alarmed == alarmed


def test_an_alarm_that_cannot_be_lifted_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_etcdctl: Any, _endpoint: str) -> None:
        raise EtcdError("it has no leader")

    monkeypatch.setattr(FakeEtcdctl, "disarm", fails, raising=False)
    found = etcd_remove.remove(NODE, FakeEtcdctl(alarmed=corrupt(5)), name="e-etcd-4")
    assert not found.removed
    assert "could not be lifted: it has no leader" in found.reason


@pytest.mark.parametrize(
    ("alarmed", "told"),
    [
        (corrupt(4, 5), "the data of e-etcd-3, e-etcd-4 differs from the others': `longhaul up --replace e-etcd-3`"),
        (corrupt(0), "`longhaul restore --etcd NAME --although-healthy`"),
        (corrupt(9), "`etcdctl alarm disarm`"),
    ],
)
def test_members_say_what_to_do(alarmed: list[dict[str, int]], told: str) -> None:
    _, checks = etcd_checks.checks(NODE, FakeEtcdctl(alarmed=alarmed))
    (detail,) = (check.detail for check in checks if not check.ok)
    assert told in detail


@pytest.mark.parametrize(("leads", "moved"), [(1, []), (4, [1]), (5, [1])])
def test_a_corrupt_leader_hands_over_before_another_corrupt_member_goes(leads: int, moved: list[int]) -> None:
    etcdctl = FakeEtcdctl(alarmed=corrupt(4, 5), leads=leads)
    assert etcd_remove.remove(NODE, etcdctl, name="e-etcd-4").removed
    assert etcdctl.moved == [(client_url(ADDRESSES[f"e-etcd-{leads - 1}"]), to) for to in moved]
