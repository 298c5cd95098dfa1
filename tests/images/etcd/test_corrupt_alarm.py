"""A member of three whose data changed while it was stopped: it alone refuses, and its last words say why. One that
the alarm names while it runs: it alone may go, and its successor lifts the alarm."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from etcd import checks as etcd_checks
from etcd import compare as etcd_compare
from etcd import exit_reason
from etcd import join as etcd_join
from etcd import promote as etcd_promote
from etcd.client import EtcdError
from machine.config import client_url

from components.control_plane.secrets import first_value
from components.model.secrets.vault import SecretKind
from contract.paths import SSD
from lab import tools
from lab.drill.faults.disks import DAMAGE_PAGES, DAMAGED, FLIP_LOG, MARK, WRITTEN
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

pytestmark = pytest.mark.loopback

NAMES = tuple(f"lab-etcd-{index}" for index in range(3))


@pytest.fixture(name="control")
def _control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Control]:
    binaries = tools.ensure(["etcd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    with FakeVault() as vault:
        control = Control(tmp_path_factory.mktemp("corrupt"), vault, members=len(NAMES), tools=binaries)
        try:
            vault.secrets["etcd-state"] = first_value(SecretKind.ETCD_STATE, holders=NAMES)
            for name in NAMES:
                control[name].write()
                assert isinstance(control[name].prepare(), etcd_join.Bootstrap)
            for name in NAMES:
                control[name].start_etcd()
            eventually(lambda: all(healthy(control[name]) for name in NAMES), what="all are healthy")
            yield control
        finally:
            control.close()


def healthy(place: Place) -> bool:
    return place.etcdctl.healthy(client_url(place.node.address))


@pytest.mark.parametrize(
    ("change", "reason"), [(FLIP_LOG, "crc mismatch"), (DAMAGE_PAGES, "found data inconsistency with peers")]
)
def test_who_has_other_data_than_was_written_refuses_alone(control: Control, change: str, reason: str) -> None:
    changed = control[NAMES[2]]
    url = client_url(changed.node.address)
    for key in ("/registry/one", MARK, "/registry/two"):
        changed.etcdctl.run(url, "put", key, WRITTEN)
    assert len(WRITTEN) == len(DAMAGED)
    changed.stop("etcd")
    exec(change.replace(SSD, str(changed.path(SSD))), {})
    changed.start_etcd()
    eventually(lambda: changed.processes["etcd"].poll() is not None, what="it ends by itself")
    log = (changed.folder / "etcd.log").read_text(encoding="utf-8")
    assert reason in exit_reason.newest_exit_message(log.splitlines())
    assert all(healthy(control[name]) for name in NAMES[:2])


def test_history_that_was_dropped_meanwhile_hides_nobody(control: Control) -> None:
    """etcd itself passes over peers that have dropped more of it, and serves."""
    changed, asked = control[NAMES[2]], control[NAMES[0]]
    changed.stop("etcd")
    changed.wipe()
    control.vault.secrets["etcd-state"] = '{"state": "existing", "cluster": ""}'
    eventually(lambda: joins(changed), what="its successor is let in")
    changed.start_etcd()
    eventually(lambda: votes(changed), what="it votes")
    assert all(etcd_compare.compared(control[name].node, control[name].etcdctl) for name in NAMES)

    url = client_url(asked.node.address)
    # By the member itself, which answers once it has applied it: another's answer would not wait for that.
    changed.etcdctl.run(client_url(changed.node.address), "put", MARK, WRITTEN)
    changed.stop("etcd")
    exec(DAMAGE_PAGES.replace(SSD, str(changed.path(SSD))), {})
    asked.etcdctl.run(url, "put", "/registry/two", "1")
    asked.etcdctl.compact(url, asked.etcdctl.status(url).revision, limit_s=10.0)
    changed.start_etcd()
    eventually(lambda: healthy(changed), what="it serves")
    assert not etcd_compare.verdict(changed.node, changed.etcdctl)
    assert all(etcd_compare.verdict(control[name].node, control[name].etcdctl) for name in NAMES[:2])


def raise_alarm(place: Place, member: int) -> None:
    """Raise the alarm, as a leader does that found other data at a member; etcdctl cannot."""
    own = place.etcdctl.certificate.read_bytes()
    credentials = grpc.ssl_channel_credentials(place.etcdctl.authority.read_bytes(), own, own)
    with grpc.secure_channel(client_url(place.node.address).removeprefix("https://"), credentials) as channel:
        # AlarmRequest{action: ACTIVATE, memberID, alarm: CORRUPT} (etcd 3.6, api/etcdserverpb/rpc.proto)
        assert channel.unary_unary("/etcdserverpb.Maintenance/Alarm")(b"\x08\x01\x10" + varint(member) + b"\x18\x02")


def varint(number: int) -> bytes:
    """Return a number as protobuf writes it."""
    head = bytes([number & 0x7F | (0x80 if number > 0x7F else 0)])
    return head + varint(number >> 7) if number > 0x7F else head


def votes(place: Place) -> bool:
    try:
        return etcd_promote.promote(place.node, place.etcdctl)
    except EtcdError:
        return False


def joins(place: Place) -> bool:
    """Return whether the member was let in; etcd refuses for 5 s after another one's arrival."""
    try:
        return isinstance(place.prepare(), etcd_join.Join)
    except EtcdError as error:
        print(f"{place.machine.name}: {error}")
        return False


def test_who_the_alarm_names_is_replaced_though_all_tell_of_it(control: Control) -> None:
    control.vault.secrets["etcd-state"] = '{"state": "existing", "cluster": ""}'
    asked, changed = control[NAMES[0]], control[NAMES[2]]
    url = client_url(asked.node.address)
    raise_alarm(asked, changed.etcdctl.status(client_url(changed.node.address)).member)
    with pytest.raises(EtcdError, match="corrupt cluster"):
        asked.etcdctl.run(url, "put", "/registry/one", "1")
    for name in NAMES:
        _, checks = etcd_checks.checks(control[name].node, asked.etcdctl)
        (told,) = (check.detail for check in checks if check.name == "quorum")
        assert "`longhaul up --replace lab-etcd-2`" in told
    stays = etcd_checks.survival(asked.node, asked.etcdctl, without=NAMES[1])
    assert not stays.survives
    assert "the data of lab-etcd-2 differs" in stays.reason
    assert etcd_checks.survival(asked.node, asked.etcdctl, without=NAMES[2]).survives

    changed.stop("etcd")
    changed.wipe()
    eventually(lambda: joins(changed), what="its successor is let in")
    assert asked.etcdctl.alarms(url) == ()
    asked.etcdctl.run(url, "put", "/registry/one", "1")
    changed.start_etcd()
    eventually(lambda: votes(changed), what="it votes")
    eventually(lambda: all(healthy(control[name]) for name in NAMES), what="all are healthy")
