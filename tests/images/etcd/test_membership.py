"""An etcd cluster of real processes: its bootstrap, and members that join, are replaced or are refused."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from etcd import checks as etcd_checks
from etcd import join as etcd_join
from etcd import promote as etcd_promote
from etcd import wal as etcd_wal
from etcd.client import EtcdError
from kube_apiserver import etcd_endpoints
from machine.config import client_url

from components.control_plane.secrets import first_value
from components.model.secrets.vault import SecretKind
from contract.ports import ETCD_CLIENT_PORT
from lab import tools
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

pytestmark = pytest.mark.loopback

FIRST, SECOND, THIRD = "lab-etcd-0", "lab-etcd-1", "lab-etcd-2"


@pytest.fixture(name="binaries", scope="module")
def _binaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tools.ensure(["etcd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.fixture(name="control")
def _control(tmp_path: Path, vault: FakeVault, binaries: dict[str, Path]) -> Iterator[Control]:
    control = Control(tmp_path, vault, members=3, tools=binaries)
    for name in (FIRST, SECOND, THIRD, "lab-api-0"):
        control[name].write()
    yield control
    control.close()


def ready(place: Place) -> bool:
    _, checks = etcd_checks.checks(place.node, place.etcdctl)
    return all(check.ok for check in checks)


def found(control: Control) -> None:
    """Start the first member, and note in the vault that it is ready, as `up` does."""
    assert isinstance(control[FIRST].prepare(), etcd_join.Bootstrap)
    control[FIRST].start_etcd()
    eventually(lambda: ready(control[FIRST]), what="the first member is ready")
    note_existing(control)


def note_existing(control: Control) -> None:
    cluster, _ = etcd_checks.members(control[FIRST].node, control[FIRST].etcdctl)
    control.vault.secrets["etcd-state"] = json.dumps({"state": "existing", "cluster": cluster})


def join(control: Control, name: str) -> None:
    assert isinstance(eventually(lambda: _prepared(control[name]), what=f"{name} may join"), etcd_join.Join)
    control[name].start_etcd()
    eventually(lambda: _promoted(control[name]), what=f"{name} votes")
    eventually(lambda: ready(control[name]), what=f"{name} is ready")


def _prepared(place: Place) -> object:
    """Return the decision, or None while etcd refuses: for 5 s after another member's arrival, during the election of a
    leader, and when a member that is added, removed and added within a second gets the same id. The unit tries again
    too (etcd_join.main)."""
    try:
        return place.prepare()
    except EtcdError as error:
        print(f"{place.machine.name}: {error}")
        return None


def lose(control: Control, name: str) -> None:
    """Delete a member and its disk, and wait until the others have noticed. If it was the leader, they first elect
    another."""
    control[name].stop("etcd")
    control[name].wipe()
    other = control[FIRST if name == SECOND else SECOND]
    eventually(lambda: etcd_checks.survival(other.node, other.etcdctl, without=name).survives, what="two survive")


def _promoted(place: Place) -> bool:
    try:
        return etcd_promote.promote(place.node, place.etcdctl)
    except EtcdError:
        return False


def _removed(control: Control, member: int) -> bool:
    try:
        control[FIRST].etcdctl.remove(client_url(control[FIRST].node.address), member)
    except EtcdError as error:
        # Until etcd has noticed that the member is gone, it counts the member, and the others must have been there for
        # 5 s.
        print(f"the removal of {member:x}: {error}")
        return "member not found" in str(error)  # a removal that timed out may have taken effect
    return True


def await_voters(control: Control, *names: str) -> None:
    """Wait until exactly these members vote and are healthy; a slow machine may elect a leader meanwhile."""

    def settled() -> bool:
        _, members = etcd_checks.members(control[FIRST].node, control[FIRST].etcdctl)
        return {member.name for member in members if member.healthy and not member.learner} == set(names)

    eventually(settled, what=f"{names} vote")


def test_three_found_a_store_together(control: Control) -> None:
    all_three = (FIRST, SECOND, THIRD)
    control.vault.secrets["etcd-state"] = first_value(SecretKind.ETCD_STATE, holders=all_three)
    for name in (FIRST, SECOND):
        assert control[name].prepare() == etcd_join.Bootstrap(founders=all_three)
    for name in (FIRST, SECOND):
        control[name].start_etcd()
    eventually(lambda: ready(control[FIRST]) and ready(control[SECOND]), what="two of three are a quorum")
    # The third starts late: the cluster already has it as a member that never started.
    assert control[THIRD].prepare() == etcd_join.Bootstrap(founders=all_three)
    control[THIRD].start_etcd()
    eventually(lambda: ready(control[THIRD]), what="the third is ready")
    await_voters(control, *all_three)
    clusters = {etcd_checks.checks(control[name].node, control[name].etcdctl)[0] for name in all_three}
    assert len(clusters) == 1

    lose(control, SECOND)
    join(control, SECOND)  # as a learner, though the vault still says that the cluster is new
    await_voters(control, *all_three)


def test_members_join_one_by_one_and_a_lost_one_is_replaced(control: Control) -> None:
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    await_voters(control, FIRST, SECOND, THIRD)
    before = control[SECOND].etcdctl.status(client_url(control[SECOND].node.address)).member

    lose(control, SECOND)
    assert not etcd_checks.survival(control[THIRD].node, control[THIRD].etcdctl, without=FIRST).survives
    join(control, SECOND)

    await_voters(control, FIRST, SECOND, THIRD)
    after = control[SECOND].etcdctl.status(client_url(control[SECOND].node.address)).member
    assert after != before
    servers = etcd_endpoints.servers(control["lab-api-0"].node.stores["etcd"], control["lab-api-0"].etcdctl)
    assert servers == tuple(sorted(client_url(control[name].node.address) for name in (FIRST, SECOND, THIRD)))


def test_the_first_member_too_is_replaced_by_joining(control: Control) -> None:
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    lose(control, FIRST)
    control.vault.secrets["etcd-state"] = json.dumps({"state": "new", "cluster": ""})  # even if the vault is wrong
    join(control, FIRST)
    await_voters(control, FIRST, SECOND, THIRD)


def test_a_member_with_its_data_just_starts(control: Control) -> None:
    found(control)
    identity = etcd_wal.identity(control[FIRST].data)
    status = control[FIRST].etcdctl.status(client_url(control[FIRST].node.address))
    assert identity == etcd_wal.WalIdentity(member=status.member, cluster=status.cluster)
    control[FIRST].stop("etcd")
    control.vault.refuse = 503  # needs no vault
    assert isinstance(control[FIRST].prepare(), etcd_join.Start)
    control[FIRST].start_etcd()
    eventually(lambda: ready(control[FIRST]), what="it is ready again")
    assert etcd_wal.identity(control[FIRST].data) == identity


def test_a_renewed_certificate_is_served_without_a_restart(control: Control) -> None:
    found(control)
    address = (control[FIRST].node.address, ETCD_CLIENT_PORT)
    before = ssl.get_server_certificate(address).strip()
    renewed = control.renew(f"{FIRST}-member").strip()
    control[FIRST].fetch()
    assert ssl.get_server_certificate(address).strip() == renewed != before
    assert ready(control[FIRST])


def test_a_removed_member_refuses_and_keeps_its_data(control: Control) -> None:
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    control[THIRD].stop("etcd")
    identity = etcd_wal.identity(control[THIRD].data)
    assert identity is not None
    eventually(lambda: _removed(control, identity.member), what=f"{THIRD} is removed")
    decision = eventually(lambda: _prepared(control[THIRD]), what=f"{THIRD} decides")
    assert isinstance(decision, etcd_join.Refuse)
    assert "was removed" in decision.reason
    assert not control[THIRD].path("/run/longhaul/etcd-join.env").exists()
    assert etcd_wal.identity(control[THIRD].data) == identity


def test_the_only_member_without_its_disk_refuses(control: Control) -> None:
    found(control)
    control[FIRST].stop("etcd")
    control[FIRST].wipe()
    decision = control[FIRST].prepare()
    assert isinstance(decision, etcd_join.Refuse)
    assert "longhaul restore" in decision.reason


def test_a_join_that_broke_off_is_taken_up_again(control: Control) -> None:
    found(control)
    added = eventually(lambda: _prepared(control[SECOND]), what=f"{SECOND} may join")
    assert isinstance(added, etcd_join.Join)  # and then the machine died before etcd started
    join(control, SECOND)
    await_voters(control, FIRST, SECOND)


def test_without_the_vault_an_empty_member_does_not_start(control: Control) -> None:
    control.vault.refuse = 403
    decision = control[FIRST].prepare()
    assert isinstance(decision, etcd_join.Refuse)
    assert "etcd-state" in decision.reason


def test_a_member_that_is_not_the_first_does_not_found(control: Control) -> None:
    assert isinstance(control[SECOND].prepare(), etcd_join.Refuse)


def test_another_cluster_of_the_same_name_is_not_joined(control: Control) -> None:
    found(control)
    control.vault.secrets["etcd-state"] = json.dumps({"state": "existing", "cluster": "abc"})
    decision = control[SECOND].prepare()
    assert isinstance(decision, etcd_join.Refuse)
    assert "two etcd clusters" in decision.reason
