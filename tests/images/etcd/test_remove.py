"""Members that are taken out of an etcd cluster of five real processes: dead ones, so that successors may join, and
living ones, for good."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from etcd import checks as etcd_checks
from etcd import join as etcd_join
from etcd import promote as etcd_promote
from etcd import remove as etcd_remove
from etcd.client import EtcdError
from machine.config import client_url

from components.control_plane.secrets import first_value
from components.model.secrets.vault import SecretKind
from contract.documents.node_answers import Removal
from lab import tools
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

pytestmark = pytest.mark.loopback

NAMES = tuple(f"lab-etcd-{index}" for index in range(5))


@pytest.fixture(name="control", scope="module")
def _control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    """Five members that vote."""
    binaries = tools.ensure(["etcd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    with FakeVault() as vault:
        control = Control(tmp_path_factory.mktemp("members"), vault, members=len(NAMES), tools=binaries)
        try:
            vault.secrets["etcd-state"] = first_value(SecretKind.ETCD_STATE, holders=NAMES)
            for name in NAMES:
                control[name].write()
                assert isinstance(control[name].prepare(), etcd_join.Bootstrap)
            for name in NAMES:
                control[name].start_etcd()
            vault.secrets["etcd-state"] = '{"state": "existing", "cluster": ""}'
            await_voters(control, *NAMES)
            yield control
        finally:
            control.close()


def voters(control: Control) -> set[str]:
    _, members = etcd_checks.members(control[NAMES[0]].node, control[NAMES[0]].etcdctl)
    return {member.name for member in members if member.healthy and not member.learner}


def await_voters(control: Control, *names: str) -> None:
    eventually(lambda: voters(control) == set(names), what=f"{names} vote")


def removal(control: Control, name: str, *, asked: str = NAMES[0]) -> Removal:
    return etcd_remove.remove(control[asked].node, control[asked].etcdctl, name=name)


def leader(control: Control) -> str:
    _, members = etcd_checks.members(control[NAMES[0]].node, control[NAMES[0]].etcdctl)
    return next((member.name for member in members if member.leader), "")


def started(place: Place) -> bool:
    """Return whether the member was let in and started; etcd refuses for 5 s after another one's arrival."""
    try:
        if not isinstance(place.prepare(), etcd_join.Join):
            return False
    except EtcdError as error:
        print(f"{place.machine.name}: {error}")
        return False
    place.start_etcd()
    return True


def promoted(place: Place) -> bool:
    try:
        return etcd_promote.promote(place.node, place.etcdctl)
    except EtcdError:
        return False


def test_two_of_five_are_dead_and_the_successor_of_the_first_does_not_wait_for_the_second(control: Control) -> None:
    first, second = NAMES[3:]
    for name in (first, second):
        control[name].stop("etcd")
        control[name].wipe()
    await_voters(control, *NAMES[:3])
    with pytest.raises(EtcdError, match="unhealthy cluster"):  # as it was: etcd lets nobody in while one is down
        eventually(lambda: control[first].prepare() and False, what="it is refused")

    alive = etcd_remove.remove(control[NAMES[0]].node, control[NAMES[0]].etcdctl, name=NAMES[1], if_dead=True)
    assert (alive.removed, alive.alive) == (False, True)
    dead = etcd_remove.remove(control[NAMES[0]].node, control[NAMES[0]].etcdctl, name=second, if_dead=True)
    assert (dead.removed, dead.alive) == (True, False)
    eventually(lambda: started(control[first]), what="the successor of the first is let in")
    eventually(lambda: promoted(control[first]), what="it votes")
    await_voters(control, *NAMES[:4])
    again = removal(control, second)
    assert (again.removed, "no member" in again.reason) == (True, True)

    eventually(lambda: started(control[second]), what="the successor of the second is let in")
    eventually(lambda: promoted(control[second]), what="it votes")
    await_voters(control, *NAMES)


def test_a_leader_hands_over_and_leaves_and_is_not_let_back_with_its_data(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = eventually(lambda: leader(control), what="one leads")
    asked = next(name for name in NAMES if name != gone)
    assert removal(control, gone, asked=asked).removed
    left = [name for name in NAMES if name != gone]
    eventually(lambda: leader_of(control[asked]) in left, what="another one leads")
    control[gone].stop("etcd")
    decision = control[gone].prepare()
    assert isinstance(decision, etcd_join.Refuse)
    assert "was removed" in decision.reason

    # Of four, two dead leave too few to take out a third.
    for name in left[2:]:
        control[name].stop("etcd")
    monkeypatch.setattr(etcd_remove, "PATIENCE_S", 0.0)
    assert not removal(control, left[1], asked=left[0]).removed


def leader_of(place: Place) -> str:
    try:
        led = place.etcdctl.status(client_url(place.node.address)).leader
        return next(one.name for one in place.etcdctl.cluster(client_url(place.node.address)).members if one.id == led)
    except (EtcdError, StopIteration):
        return ""
