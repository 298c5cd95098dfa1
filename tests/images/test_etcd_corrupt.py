"""A member of three whose data changed while it was stopped: it alone refuses, and its last words say why."""

from __future__ import annotations

from collections.abc import Iterator

import etcd_join
import etcd_last_words
import pytest
from node_config import client_url

from components.control_plane.secrets import first_value
from components.model.vault import SecretKind
from lab import tools
from lab.drill.faults.disks import DAMAGE_PAGES, DAMAGED, DISK, FLIP_LOG, MARK, WRITTEN
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

pytestmark = pytest.mark.lab

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
    exec(change.replace(DISK, str(changed.path(DISK))), {})
    changed.start_etcd()
    eventually(lambda: changed.processes["etcd"].poll() is not None, what="it ends by itself")
    log = (changed.folder / "etcd.log").read_text(encoding="utf-8")
    assert reason in etcd_last_words.told(log.splitlines())
    assert all(healthy(control[name]) for name in NAMES[:2])
