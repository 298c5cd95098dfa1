"""A reclaim beside learners, other alarms and a second reclaim, without etcd."""

from __future__ import annotations

import fcntl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from etcd import defragmentation
from etcd.client import Etcdctl, EtcdError, EtcdMembers, EtcdMemberStatus, Member
from machine.config import client_url, peer_url

from contract.documents.node import NodeConfig
from contract.documents.node_answers import Reclaimed

ADDRESSES = {f"e-etcd-{index}": f"10.0.1.{10 + index}" for index in range(3)}
NODE = NodeConfig(
    machine="e-etcd-0",
    role="etcd",
    index=0,
    address=ADDRESSES["e-etcd-0"],
    version="3.6.8",
    stores={"etcd": ADDRESSES},
)
LEARNER = "10.0.1.17"
NOT_SUPPORTED = "etcdserver: rpc not supported for learner"
"""Words of etcd 3.6 (api/v3rpc/rpctypes)."""


def member(number: int, address: str, *, name: str = "", learner: bool = False) -> Member:
    answers = (client_url(address),) if name else ()
    return Member(id=number, name=name, learner=learner, peer_urls=(peer_url(address),), client_urls=answers)


VOTERS = tuple(member(index + 1, address, name=name) for index, (name, address) in enumerate(ADDRESSES.items()))


@dataclass(frozen=True, kw_only=True)
class FakeEtcdctl(Etcdctl):
    """An etcd cluster as etcdctl sees it, in which the first member leads."""

    certificate: Path = Path()
    authority: Path = Path()
    members: tuple[Member, ...] = VOTERS
    alarms_: dict[str, list[dict[str, int]]] = field(default_factory=lambda: {"before": [{"memberID": 1, "alarm": 1}]})
    told: list[str] = field(default_factory=list)

    def first_cluster(self, endpoints: Any) -> EtcdMembers | None:
        return EtcdMembers(id=12, members=self.members, endpoint=next(iter(endpoints))) if self.members else None

    def status(self, endpoint: str) -> EtcdMemberStatus:
        found = next(one for one in self.members if endpoint in one.client_urls)
        return EtcdMemberStatus(
            member=found.id, cluster=12, leader=1, learner=found.learner, version="3.6.8", db_size=4
        )

    def compact(self, endpoint: str, revision: int, *, limit_s: float) -> None:
        self.told.append("compact")

    def defragment(self, endpoint: str, *, limit_s: float) -> None:
        if self.status(endpoint).learner:
            raise EtcdError(f"{endpoint}, defrag: {NOT_SUPPORTED}")
        self.told.append(f"defrag {endpoint}")

    def move_leader(self, endpoint: str, member: int) -> None:
        self.told.append("move-leader")

    def run(self, endpoint: str, *arguments: str) -> Any:
        assert arguments in (("alarm", "list"), ("alarm", "disarm"))
        self.told.append(" ".join(arguments))
        now = "after" if any(one.startswith("defrag") for one in self.told) else "before"
        return {"header": {}, "alarms": self.alarms_.get(now, self.alarms_["before"])}


def reclaimed(etcdctl: Etcdctl, tmp_path: Path, *, node: NodeConfig = NODE) -> Reclaimed:
    return defragmentation.reclaim(node, etcdctl, lock=tmp_path / "lock")


def test_the_learner_is_left_as_it_is(tmp_path: Path) -> None:
    learner = member(9, LEARNER, name="e-etcd-learner", learner=True)
    etcdctl = FakeEtcdctl(members=(learner, *VOTERS))
    found = reclaimed(etcdctl, tmp_path)
    assert found.done, found.reason
    assert set(found.sizes) == set(ADDRESSES)
    assert etcdctl.told[-1] == "alarm disarm"


@pytest.mark.parametrize("name", ["", "e-etcd-1"], ids=["never started", "started"])
def test_while_a_member_joins_nothing_is_begun(tmp_path: Path, name: str) -> None:
    joining = member(9, ADDRESSES["e-etcd-1"], name=name, learner=True)
    etcdctl = FakeEtcdctl(members=(VOTERS[0], joining, VOTERS[2]))
    found = reclaimed(etcdctl, tmp_path)
    assert not found.done
    assert not found.ask_another
    assert "e-etcd-1 joins and does not vote yet" in found.reason
    assert "compact" not in etcdctl.told


@pytest.mark.parametrize("risen", ["before", "after"])
def test_another_alarm_than_that_of_the_quota_is_never_lifted(tmp_path: Path, risen: str) -> None:
    quota, corrupt = {"memberID": 1, "alarm": 1}, {"memberID": 3, "alarm": 2}
    etcdctl = FakeEtcdctl(alarms_={"before": [quota], risen: [quota, corrupt]})
    found = reclaimed(etcdctl, tmp_path)
    assert not found.done
    assert "e-etcd-2 has the alarm CORRUPT" in found.reason
    assert "--replace e-etcd-2" in found.reason
    assert "alarm disarm" not in etcdctl.told
    assert ("compact" in etcdctl.told) == (risen == "after")


def test_an_alarm_of_who_is_gone_is_lifted_with_that_of_the_quota(tmp_path: Path) -> None:
    etcdctl = FakeEtcdctl(alarms_={"before": [{"memberID": 1, "alarm": 1}, {"memberID": 255, "alarm": 2}]})
    assert reclaimed(etcdctl, tmp_path).done
    etcdctl = FakeEtcdctl(alarms_={"before": [{"memberID": 0, "alarm": 2}]})
    assert not reclaimed(etcdctl, tmp_path).done


def test_no_alarm_at_all_is_no_reason_to_stop(tmp_path: Path) -> None:
    assert reclaimed(FakeEtcdctl(alarms_={"before": []}), tmp_path).done


def test_an_alarm_that_is_not_known_is_told_by_its_number(tmp_path: Path) -> None:
    found = reclaimed(FakeEtcdctl(alarms_={"before": [{"memberID": 255, "alarm": 7}]}), tmp_path)
    assert "ff, which is no member any more, has the alarm 7" in found.reason


def test_one_at_a_time_on_a_machine(tmp_path: Path) -> None:
    etcdctl = FakeEtcdctl()
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = reclaimed(etcdctl, tmp_path)
    assert not found.done
    assert not found.ask_another, "the other member would defragment beside this one"
    assert "another reclaim is running" in found.reason
    assert etcdctl.told == []
    assert reclaimed(etcdctl, tmp_path).done, "its end frees the lock"


def test_without_a_quorum_another_member_may_be_asked(tmp_path: Path) -> None:
    found = reclaimed(FakeEtcdctl(members=()), tmp_path, node=replace(NODE, learner=True))
    assert found.ask_another
    assert not found.done
