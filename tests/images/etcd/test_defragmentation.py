"""An etcd cluster of three real processes and a learner that reaches its quota, says so, and gets room again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from disks import gate as disk_gate
from etcd import checks as etcd_checks
from etcd import defragmentation, exit_reason
from etcd import join as etcd_join
from etcd.client import Etcdctl, EtcdError
from machine.config import client_url

from components.control_plane.secrets import first_value
from components.model.control_plane.etcd import EtcdLearner
from components.model.secrets.vault import SecretKind
from contract.documents.node_answers import Reclaimed
from lab import tools
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

LEARNER = "lab-etcd-learner"
NAMES = tuple(f"lab-etcd-{index}" for index in range(3))
QUOTA = 16 << 20
VALUE = "x" * 100_000
"""A word of a command may have 128 KiB."""


@pytest.fixture(name="control", scope="module")
def _control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    binaries = tools.ensure(["etcd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    with FakeVault() as vault:
        folder = tmp_path_factory.mktemp("quota")
        declared = EtcdLearner(zone="2", machine_type="Standard_D16s_v5")
        control = Control(folder, vault, members=len(NAMES), tools=binaries, learner=declared)
        try:
            vault.secrets["etcd-state"] = first_value(SecretKind.ETCD_STATE, holders=NAMES)
            for name in NAMES:
                control[name].write()
                settings = control[name].path("/etc/longhaul/etcd.env")
                settings.write_text(f"{settings.read_text()}\nETCD_QUOTA_BACKEND_BYTES={QUOTA}\n")
                assert isinstance(control[name].prepare(), etcd_join.Bootstrap)
            for name in NAMES:
                control[name].start_etcd()
            vault.secrets["etcd-state"] = '{"state": "existing", "cluster": ""}'
            eventually(lambda: not ailments(control), what="all are healthy")
            control[LEARNER].write()
            eventually(lambda: joined(control[LEARNER]), what="the learner is let in")
            control[LEARNER].start_etcd()
            eventually(lambda: follows(control), what="the learner has all writes")
            yield control
        finally:
            control.close()


def joined(place: Place) -> bool:
    """Return whether the learner was let in; etcd refuses for 5 s after a member's start."""
    try:
        return isinstance(place.prepare(), etcd_join.Join)
    except EtcdError as error:
        print(f"{place.machine.name}: {error}")
        return False


def follows(control: Control) -> bool:
    """Return whether the learner answers, and has the newest revision."""
    try:
        status = [control[name].etcdctl.status(endpoint(control[name])) for name in (LEARNER, NAMES[0])]
    except EtcdError:
        return False
    return status[0].learner and status[0].revision >= status[1].revision


def reclaimed(place: Place) -> Reclaimed:
    return defragmentation.reclaim(place.node, place.etcdctl, lock=place.folder / "reclaim.lock")


def alarms(place: Place) -> list[str]:
    return [alarm.name for alarm in place.etcdctl.alarms(endpoint(place))]


def endpoint(place: Place) -> str:
    return client_url(place.node.address)


def ailments(control: Control) -> list[str]:
    """Return what the members' own checks find wrong."""
    found = [etcd_checks.checks(control[name].node, control[name].etcdctl)[1] for name in NAMES]
    return [check.detail for checks in found for check in checks if not check.ok]


def full(place: Place) -> bool:
    """Write the same key again; return whether it was refused for want of room."""
    try:
        place.etcdctl.run(endpoint(place), "put", "again", VALUE)
    except EtcdError as error:
        return "database space exceeded" in str(error)
    return False


def leader(control: Control) -> str:
    status = {name: control[name].etcdctl.status(endpoint(control[name])) for name in NAMES}
    return next(name for name, one in status.items() if one.leader == one.member)


@pytest.mark.loopback
def test_what_reached_its_quota_gets_room_again_and_no_leader_is_defragmented(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = control[NAMES[0]]
    first.etcdctl.run(endpoint(first), "put", "kept", "as it was")
    assert any(full(first) for _ in range(2 * QUOTA // len(VALUE)))
    (told,) = set(ailments(control))
    assert "alarm NOSPACE" in told
    assert "`longhaul up --reclaim etcd`" in told
    answer = first.etcdctl.run(endpoint(first), "get", "kept")
    assert answer["count"] == 1, "reads go on"

    led = leader(control)
    seen: list[tuple[str, bool]] = []
    defragment = Etcdctl.defragment

    def noted(etcdctl: Etcdctl, endpoint: str, *, limit_s: float) -> None:
        status = etcdctl.status(endpoint)
        seen.append((endpoint, status.leader == status.member))
        defragment(etcdctl, endpoint, limit_s=limit_s)

    monkeypatch.setattr(Etcdctl, "defragment", noted)
    assert set(alarms(first)) == {"NOSPACE"}
    found = reclaimed(first)
    assert found.done, found.reason
    assert [endpoint_ for endpoint_, _ in seen][-1] == endpoint(control[led])
    assert sorted(endpoint_ for endpoint_, _ in seen) == sorted(endpoint(control[name]) for name in NAMES)
    assert not any(leads for _, leads in seen)
    assert all(after < before / 4 for before, after in found.sizes.values())
    eventually(lambda: not ailments(control), what="all are healthy again")
    assert not full(first)
    eventually(lambda: follows(control), what="the learner has all writes")
    left = control[LEARNER].etcdctl.status(endpoint(control[LEARNER]))
    assert left.db_size > QUOTA - (1 << 20), "the learner's database is as large as the quota"
    assert alarms(first) == [], "and it raises no alarm"
    assert first.etcdctl.run(endpoint(first), "get", "kept")["count"] == 1


@pytest.mark.loopback
def test_a_member_that_is_away_is_left_out_and_named(control: Control) -> None:
    away = NAMES[2]
    control[away].stop("etcd")
    eventually(lambda: leader_of_two(control), what="one of two leads")
    found = reclaimed(control[NAMES[0]])
    assert found.done, found.reason
    assert f"{away} did not answer" in found.reason
    assert set(found.sizes) == set(NAMES[:2])
    control[away].start_etcd()
    eventually(lambda: not ailments(control), what="all are healthy again")


def leader_of_two(control: Control) -> bool:
    return all(control[name].etcdctl.healthy(endpoint(control[name])) for name in NAMES[:2])


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert etcd_checks.room_checks(tmp_path / "not-there") == ()
    mounted = Path("/")
    monkeypatch.setattr(etcd_checks, "ROOM_BYTES", 1 << 70)
    (check,) = etcd_checks.room_checks(mounted)
    assert not check.ok
    assert check.detail.startswith("the data disk is full: ")
    monkeypatch.setattr(etcd_checks, "ROOM_BYTES", 0)
    (check,) = etcd_checks.room_checks(mounted)
    assert check.ok
    assert Path("/var/lib/longhaul/ssd") == disk_gate.DISK


def test_why_a_member_ended_is_its_newest_fatal_message() -> None:
    lines = (
        "etcd.service: Started",
        '{"level":"fatal","msg":"older"}',
        '{"level":"fatal","msg":"failed to open WAL","error":"wal: crc mismatch"}',
        '{"level":"info","msg":"closing"}',
        "[1, 2]",
    )
    assert exit_reason.newest_exit_message(lines) == "it ended: failed to open WAL: wal: crc mismatch"
    assert exit_reason.newest_exit_message(lines[:1]) == ""


def test_a_member_that_may_not_start_says_why() -> None:
    lines = (
        '{"level":"fatal","msg":"older"}',
        "x-etcd-0 does not start: x-etcd-0 has no data, and no other member answers",
        "etcd.service: Control process exited, code=exited, status=1/FAILURE",
    )
    assert (
        exit_reason.newest_exit_message(lines) == "it does not start: x-etcd-0 has no data, and no other member answers"
    )
    assert exit_reason.newest_exit_message((*lines, '{"level":"info","msg":"starting etcd"}')) == "it ended: older"


def test_no_journal_is_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = subprocess.CompletedProcess(args=[], returncode=1, stdout="", stderr="No journal files were found.")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: empty)
    assert exit_reason.exit_reason() == ""
