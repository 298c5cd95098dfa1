"""Names, ports, records and cgroups, without any machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lab import cgroups
from lab.config import LabConfig
from lab.state import InitRecord, LabError, LabState, init_record, lock, loopback_port, running_init, write_atomically

V2 = "29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
V1 = (
    "30 25 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n"
    "31 25 0:28 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
    "32 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 25 0:30 / /sys/fs/cgroup/cpuset rw shared:13 - cgroup cgroup rw,cpuset\n"
    "34 25 0:31 / /tmp/elsewhere rw shared:13 - cgroup cgroup rw,pids\n"
    "35 25 0:30 / /sys/fs/cgroup/again rw shared:13 - cgroup cgroup rw,cpuset\n"
)


@pytest.mark.parametrize("name", ["", "log", "Lab", "-x", "a/b", "..", "x" * 21])
def test_names_that_cannot_be_environments(name: str) -> None:
    with pytest.raises(LabError, match="environment name"):
        LabState.of(name)


def test_environments_have_ports_of_their_own_and_the_user_may_choose() -> None:
    ports = {loopback_port(name, environment={}) for name in ("lab", "prod", "test", "one")}
    assert len(ports) == 4
    assert all(21000 <= port < 29000 for port in ports)
    assert loopback_port("lab", environment={"LONGHAUL_LAB_PORT": "7000"}) == 7000
    with pytest.raises(LabError, match="write a port"):
        loopback_port("lab", environment={"LONGHAUL_LAB_PORT": "70000"})


def test_a_record_is_believed_only_while_its_process_lives(tmp_path: Path) -> None:
    state = LabState.of("x", root=tmp_path)
    state.create()
    assert init_record(state) is None
    mine = InitRecord.of(os.getpid(), port=1)
    mine.write(state)
    assert running_init(state) == mine
    InitRecord(pid=mine.pid, started=mine.started + 1, boot_id=mine.boot_id, port=1).write(state)
    assert running_init(state) is None
    for damaged in ("", "{", "[]", '{"pid": 1}'):
        state.init_file.write_text(damaged)
        assert init_record(state) is None


def test_a_file_is_written_whole_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, "one")
    write_atomically(path, b"two", mode=0o644)
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_the_lock_goes_to_one_and_leaves_nothing(tmp_path: Path) -> None:
    state = LabState.of("x", root=tmp_path / "root")
    with lock(state), pytest.raises(LabError, match=f"process {os.getpid()} "), lock(state):
        raise AssertionError("both have it")
    assert not state.root.exists()
    with lock(state):
        assert state.lock_file.exists()


def test_hierarchies_of_both_versions() -> None:
    assert cgroups.parse(V2) == (cgroups.Hierarchy(Path("/sys/fs/cgroup"), unified=True, cpuset=False),)
    assert [(str(item.mount)[15:], item.unified, item.cpuset) for item in cgroups.parse(V1)] == [
        ("unified", True, False),
        ("systemd", False, False),
        ("cpu,cpuacct", False, False),
        ("cpuset", False, True),
    ]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"supernet": "10.0.0.1/8"}, "--supernet"),
        ({"operators": "10.0.0.0/31"}, "/30"),
        ({"api_address": "10.0.0.1"}, "--api-address"),
        ({"rootfs": "/nowhere"}, "is no root file system"),
        ({"delays": 2.0}, "--delays 2.0"),
    ],
)
def test_parameters_that_cannot_work_are_said(change: dict[str, Any], complaint: str) -> None:
    values: dict[str, Any] = {
        "rootfs": "/",
        "operators": "10.9.0.0/24",
        "supernet": "10.0.0.0/8",
        "api_address": "10.0.0.1:1",
    }
    LabConfig(**values, port=1).check()
    with pytest.raises(LabError, match=complaint):
        LabConfig(**{**values, **change}, port=1).check()


def test_parameters_are_read_as_they_were_written(tmp_path: Path) -> None:
    state = LabState.of("x", root=tmp_path)
    state.create()
    config = LabConfig(rootfs="/", operators="10.9.0.0/24", supernet="10.0.0.0/8", port=1, images={"a": "/b"})
    config.write(state)
    assert LabConfig.read(state) == config
