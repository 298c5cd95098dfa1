"""A member's decision about how it starts, without etcd."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from etcd.client import EtcdMembers, Member
from etcd.join import Bootstrap, Join, Refuse, Start, decide
from etcd.wal import WalError, WalIdentity, identity
from machine.config import client_url, peer_url

from contract.documents.etcd_state import RecordedCluster
from contract.documents.node import NodeConfig

NODE = NodeConfig(
    machine="e-etcd-0",
    role="etcd",
    index=0,
    address="10.0.1.10",
    version="3.6.8",
    state_secret="etcd-state",
    stores={"etcd": {"e-etcd-0": "10.0.1.10", "e-etcd-1": "10.0.1.11"}},
)
SECOND = replace(NODE, machine="e-etcd-1", index=1, address="10.0.1.11")
NEW, EXISTING = RecordedCluster(state="new"), RecordedCluster(state="existing", cluster="c")


def member(number: int, *, name: str = "", address: str = "", learner: bool = False) -> Member:
    """Return a member. One with a name has started before, and has announced its address for clients."""
    answers = (client_url(address),) if name else ()
    return Member(id=number, name=name, learner=learner, peer_urls=(peer_url(address),), client_urls=answers)


def cluster(*members: Member, number: int = 0xC) -> EtcdMembers:
    return EtcdMembers(id=number, members=members, endpoint="https://10.0.1.11:2379")


OTHER = member(2, name="e-etcd-1", address="10.0.1.11")
OWN = member(1, name="e-etcd-0", address="10.0.1.10")
DATA = WalIdentity(member=1, cluster=0xC)


@pytest.mark.parametrize("state", [None, NEW, EXISTING])
@pytest.mark.parametrize("answer", [None, cluster(OWN, OTHER)])
def test_data_of_a_member_just_starts(state: RecordedCluster | None, answer: EtcdMembers | None) -> None:
    assert decide(node=NODE, local=DATA, cluster=answer, state=state) == Start()


@pytest.mark.parametrize(
    ("answer", "says"),
    [(cluster(OTHER), "was removed"), (cluster(OWN, OTHER, number=0xD), "is of cluster")],
)
def test_data_that_is_not_the_clusters_is_refused(answer: EtcdMembers, says: str) -> None:
    decision = decide(node=NODE, local=DATA, cluster=answer, state=EXISTING)
    assert isinstance(decision, Refuse)
    assert says in decision.reason
    assert "Nothing was deleted" in decision.reason


def test_without_founders_the_first_member_founds_and_only_when_nobody_answers() -> None:
    assert decide(node=NODE, local=None, cluster=None, state=NEW) == Bootstrap(founders=("e-etcd-0",))
    assert isinstance(decide(node=SECOND, local=None, cluster=None, state=NEW), Refuse)
    assert decide(node=NODE, local=None, cluster=cluster(OTHER), state=NEW) == Join(stale=())


def test_the_founders_found_together_and_nobody_else() -> None:
    both = RecordedCluster(state="new", founders=("e-etcd-0", "e-etcd-1"))
    for node in (NODE, SECOND):
        assert decide(node=node, local=None, cluster=None, state=both) == Bootstrap(founders=both.founders)
    third = replace(NODE, machine="e-etcd-2", index=2, address="10.0.1.12")
    assert isinstance(decide(node=third, local=None, cluster=None, state=both), Refuse)
    assert decide(node=third, local=None, cluster=cluster(OWN, OTHER), state=both) == Join(stale=())


def test_a_founder_that_comes_late_starts_as_the_member_that_is_awaited() -> None:
    both = RecordedCluster(state="new", founders=("e-etcd-0", "e-etcd-1"))
    awaited = replace(OWN, client_urls=())
    assert decide(node=NODE, local=None, cluster=cluster(awaited, OTHER), state=both) == Bootstrap(
        founders=both.founders
    )


def test_a_founder_that_lost_its_disk_joins_even_before_the_note() -> None:
    both = RecordedCluster(state="new", founders=("e-etcd-0", "e-etcd-1"))
    assert decide(node=NODE, local=None, cluster=cluster(OWN, OTHER), state=both) == Join(stale=(OWN,))


@pytest.mark.parametrize("index", [0, 1, 6])
def test_an_existing_store_is_never_founded_again(index: int) -> None:
    decision = decide(node=replace(NODE, index=index), local=None, cluster=None, state=EXISTING)
    assert isinstance(decision, Refuse)
    assert "longhaul restore" in decision.reason


@pytest.mark.parametrize("answer", [None, cluster(OTHER)])
def test_without_a_readable_state_an_empty_member_is_refused(answer: EtcdMembers | None) -> None:
    assert isinstance(decide(node=NODE, local=None, cluster=answer, state=None), Refuse)
    assert isinstance(decide(node=NODE, local=None, cluster=None, state=RecordedCluster(state="fresh")), Refuse)


def test_what_was_there_under_this_name_or_address_makes_room() -> None:
    never_started = member(3, address="10.0.1.10", learner=True)
    decision = decide(node=NODE, local=None, cluster=cluster(OWN, OTHER, never_started), state=EXISTING)
    assert decision == Join(stale=(OWN, never_started))


def test_another_cluster_is_not_joined() -> None:
    assert isinstance(decide(node=NODE, local=None, cluster=cluster(OTHER, number=0xD), state=EXISTING), Refuse)
    assert decide(node=NODE, local=None, cluster=cluster(OTHER, number=0xD), state=NEW) == Join(stale=())


def test_a_folder_without_a_log_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "member" / "snap").mkdir(parents=True)
    assert identity(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"\0" * 100, b"\xff" * 100, b"\x04" + b"\0" * 6 + b"\x84\x08\x04\x10\0"])
def test_a_damaged_log_is_an_error_and_not_an_empty_disk(tmp_path: Path, content: bytes) -> None:
    log = tmp_path / "member" / "wal" / "0000000000000000-0000000000000000.wal"
    log.parent.mkdir(parents=True)
    log.write_bytes(content)
    with pytest.raises(WalError, match="damaged"):
        identity(tmp_path)
