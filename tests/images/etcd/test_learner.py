"""The learner of an etcd cluster of real processes: it never votes, takes no member's place, keeps its identity with
its disk, and saves what it has when all voting members are lost."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from backup import snapshot
from backup.snapshot import Programs
from etcd import checks as etcd_checks
from etcd import join as etcd_join
from etcd import promote as etcd_promote
from etcd import remove as etcd_remove
from etcd import wal as etcd_wal
from etcd.client import EtcdError
from kube_apiserver import etcd_endpoints
from machine.config import client_url

from components.control_plane.secrets import first_value
from components.model.control_plane.etcd import EtcdLearner
from components.model.secrets.vault import SecretKind
from lab import tools
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

pytestmark = pytest.mark.loopback

VOTERS = tuple(f"lab-etcd-{index}" for index in range(3))
LEARNER = "lab-etcd-learner"
DECLARED = EtcdLearner(zone="2", machine_type="Standard_D8s_v5")


@pytest.fixture(name="control", scope="module")
def _control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    """Three members that vote, and the files of a learner."""
    binaries = tools.ensure(["etcd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    with FakeVault() as vault:
        folder = tmp_path_factory.mktemp("learner")
        control = Control(folder, vault, members=len(VOTERS), tools=binaries, learner=DECLARED)
        try:
            vault.secrets["etcd-state"] = first_value(SecretKind.ETCD_STATE, holders=VOTERS)
            for name in (*VOTERS, LEARNER):
                control[name].write()
            assert isinstance(control[LEARNER].prepare(), etcd_join.Refuse), "it bootstraps nothing"
            for name in VOTERS:
                assert isinstance(control[name].prepare(), etcd_join.Bootstrap)
            for name in VOTERS:
                control[name].start_etcd()
            vault.secrets["etcd-state"] = '{"state": "existing", "cluster": ""}'
            eventually(lambda: _members(control) == dict.fromkeys(VOTERS, False), what="three vote")
            yield control
        finally:
            control.close()


def _members(control: Control, *, asked: str = VOTERS[0]) -> dict[str, bool]:
    """Return the healthy members as one of them sees them, and whether each is a learner."""
    _, members = etcd_checks.members(control[asked].node, control[asked].etcdctl)
    return {member.name: member.learner for member in members if member.healthy}


def _ready(place: Place) -> bool:
    return all(check.ok for check in etcd_checks.checks(place.node, place.etcdctl)[1])


def _started(place: Place) -> bool:
    """Return whether the member was let in and started; etcd refuses for 5 s after another one's arrival."""
    try:
        assert isinstance(place.prepare(), etcd_join.Join)
    except EtcdError as error:
        print(f"{place.machine.name}: {error}")
        return False
    place.start_etcd()
    return True


def _promoted(place: Place) -> bool:
    try:
        return etcd_promote.promote(place.node, place.etcdctl)
    except EtcdError:
        return False


def _write(control: Control, value: str) -> int:
    """Write a key through a voting member, and return its revision once that is acknowledged."""
    done = control[VOTERS[0]].etcdctl.run(client_url(control[VOTERS[0]].node.address), "put", "kept", value)
    return int(done["header"]["revision"])


def _revision(place: Place) -> int:
    return place.etcdctl.status(client_url(place.node.address)).revision


def test_it_joins_and_never_votes(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    place = control[LEARNER]
    eventually(lambda: _started(place), what="the learner is let in")
    eventually(lambda: _ready(place), what="the learner is ready")
    checks = {check.name: check.detail for check in etcd_checks.checks(place.node, place.etcdctl)[1]}
    assert checks["learner"] == "is a learner, as declared"
    assert checks["follows"] == "has the newest revision"
    monkeypatch.setattr(etcd_promote.NodeConfig, "read", classmethod(lambda _cls: place.node))
    assert etcd_promote.main() == 0
    assert _members(control) == {**dict.fromkeys(VOTERS, False), LEARNER: True}
    urls = etcd_endpoints.servers(control[VOTERS[0]].node.stores["etcd"], control[VOTERS[0]].etcdctl)
    assert urls == tuple(sorted(client_url(control[name].node.address) for name in VOTERS))
    survival = etcd_checks.survival(control[VOTERS[0]].node, control[VOTERS[0]].etcdctl, without=VOTERS[2])
    assert (survival.voters, survival.quorum, survival.healthy_without) == (3, 2, 2)


def test_a_voting_member_is_replaced_beside_it(control: Control) -> None:
    gone = control[VOTERS[1]]
    gone.stop("etcd")
    gone.wipe()
    asked = control[VOTERS[0]]
    eventually(lambda: etcd_checks.survival(asked.node, asked.etcdctl, without=VOTERS[1]).survives, what="two survive")
    eventually(lambda: _started(gone), what="its successor is let in")
    eventually(lambda: _promoted(gone), what="it votes")
    eventually(lambda: _members(control) == {**dict.fromkeys(VOTERS, False), LEARNER: True}, what="all are back")


def test_it_keeps_its_identity_with_its_disk(control: Control) -> None:
    place = control[LEARNER]
    before = etcd_wal.identity(place.data)
    place.stop("etcd")
    written = _write(control, "while it was away")
    assert isinstance(place.prepare(), etcd_join.Start)
    place.start_etcd()
    eventually(lambda: _ready(place) and _revision(place) >= written, what="it has caught up")
    assert etcd_wal.identity(place.data) == before


def test_it_is_taken_out_whether_it_has_started_or_not(control: Control) -> None:
    place, asked = control[LEARNER], control[VOTERS[0]]
    place.stop("etcd")
    assert etcd_remove.remove(asked.node, asked.etcdctl, name=LEARNER).removed
    refused = place.prepare()
    assert isinstance(refused, etcd_join.Refuse)
    assert "take the learner out of the file" in refused.reason
    place.wipe()
    assert isinstance(eventually(lambda: _let_in(place), what="it is let in"), etcd_join.Join)
    assert len(asked.etcdctl.cluster(client_url(asked.node.address)).members) == 4
    removed = eventually(lambda: etcd_remove.remove(asked.node, asked.etcdctl, name=LEARNER), what="it is out")
    assert removed.removed, removed.reason
    assert len(asked.etcdctl.cluster(client_url(asked.node.address)).members) == 3
    place.wipe()
    eventually(lambda: _started(place), what="a new learner is let in")
    eventually(lambda: _ready(place), what="it is ready")


def _let_in(place: Place) -> object:
    try:
        return place.prepare()
    except EtcdError as error:
        print(f"{place.machine.name}: {error}")
        return None


def test_it_saves_the_last_acknowledged_write_without_any_voting_member(control: Control) -> None:
    place = control[LEARNER]
    acknowledged = _write(control, "the last one")
    eventually(lambda: _revision(place) >= acknowledged, what="the learner has it")
    for name in VOTERS:
        control[name].stop("etcd")
        control[name].wipe()
    assert place.etcdctl.first_cluster(client_url(address) for address in place.node.peers.values()) is None
    file = place.folder / "snapshot.db"
    endpoint = client_url(place.node.address)
    snapshot.save(place.etcdctl, endpoint, file, size=place.etcdctl.status(endpoint).db_size)
    inside = snapshot.check(file, Programs(etcdutl=str(place.tools["etcdutl"])))
    assert inside.revision == acknowledged
    refused = control[VOTERS[0]].prepare()
    assert isinstance(refused, etcd_join.Refuse), "it bootstraps no second cluster"
    report = json.dumps([check.detail for check in etcd_checks.checks(place.node, place.etcdctl)[1]])
    assert f"no voting member answers; it has revision {acknowledged}" in report
