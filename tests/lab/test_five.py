"""A control plane of five members: a slow disk keeps its member out, an API server heals, two dead members are
replaced in one run, and it shrinks to three under writes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.control_plane import changed, generations, kept_project, repeated, tried_twice, with_part
from tests.support.project import Project, environment, eventually

pytestmark = [pytest.mark.lab, pytest.mark.drill]

MEMBERS = tuple(f"five-etcd-{index}" for index in range(5))
DEAD = MEMBERS[3:]
WRITE = ("annotate", "configmap", "kept", "--overwrite", "longhaul.test/written=again")


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = environment("five", supernet="10.160.0.0/12", etcd=5, events=1, api=1)
    with kept_project(tmp_path_factory.mktemp("five"), raw) as project:
        yield project


def _voters(project: Project) -> set[str]:
    members = project.await_healthy()["etcd_clusters"]["etcd"]["members"]
    return {member["name"] for member in members if member["healthy"] and not member["learner"]}


def test_every_member_measured_its_disk(project: Project) -> None:
    for machine in MEMBERS:
        checks = json.loads(project.on(machine, "longhaul-node status").stdout)["checks"]
        (disk,) = [check for check in checks if check["name"] == "disk"]
        assert disk["ok"], disk
        metrics = project.on(machine, "cat /var/lib/longhaul/metrics/disk-gate.prom").stdout
        assert 'longhaul_disk_sync_limit_seconds{quantile="0.99"} 2' in metrics.splitlines()


def test_a_disk_that_is_too_slow_keeps_its_member_out(project: Project) -> None:
    """Limits that no disk keeps stand for a slow disk, on a machine whose data is put aside."""
    machine = MEMBERS[4]
    limits = "/etc/longhaul/disk-gate.json"
    slow = '{"median_ms": 0.000001, "p99_ms": 0.000001}'
    project.on(machine, f"systemctl stop longhaul-etcd.target etcd longhaul-disk-gate; cp {limits} /root/limits")
    project.on(machine, f"echo '{slow}' > {limits}; cd /var/lib/longhaul/ssd; rm disk-gate.json; mv etcd aside")
    done = project.on(machine, "systemctl start longhaul-etcd.target", check=False)
    assert done.returncode != 0
    answer = json.loads(project.on(machine, "longhaul-node ready --wait 600", check=False).stdout)
    assert not answer["ready"]
    assert answer["checks"][0]["name"] == "disk"
    assert "(at most 1e-06)" in answer["checks"][0]["detail"]
    (row,) = [one for one in project.status()["machines"] if one["name"] == machine]
    assert "fdatasync takes" in json.dumps(row)
    project.on(machine, f"mv /root/limits {limits}; systemctl start longhaul-disk-gate")
    project.on(
        machine, "mv /var/lib/longhaul/ssd/aside /var/lib/longhaul/ssd/etcd; systemctl start longhaul-etcd.target"
    )
    assert _voters(project) == set(MEMBERS)


def test_an_api_server_starts_without_the_events_and_its_watchdog_ends_it_when_it_hangs(project: Project) -> None:
    server = "five-api-0"
    project.on("five-events-0", "systemctl stop etcd")
    try:
        project.on(server, "systemctl restart kube-apiserver")
        project.kubectl("annotate", "configmap", "kept", "--overwrite", "longhaul.test/events=away")
        project.on(server, "systemctl kill --kill-whom=main --signal=STOP kube-apiserver")
        eventually(lambda: "is hung and killed" in _journal(project, server))
    finally:
        project.on("five-events-0", "systemctl start etcd")
    project.await_healthy()
    units = "kube-apiserver kube-apiserver-watchdog kube-apiserver-events"
    assert project.on(server, f"systemctl is-active {units}").stdout.split() == ["active"] * 3
    eventually(lambda: project.kubectl("get", "--raw", "/readyz", check=False).returncode == 0)


def _journal(project: Project, machine: str) -> str:
    return project.on(machine, "journalctl --unit kube-apiserver-watchdog --output cat --no-pager").stdout


def test_two_dead_of_five_are_replaced_in_one_run(project: Project) -> None:
    before = generations(project)
    for machine in DEAD:
        # A failed disk: etcd cannot start, and its data is not there any more.
        project.on(machine, "systemctl stop etcd && rm -rf /var/lib/longhaul/ssd/etcd")
    with repeated(lambda: tried_twice(project, *WRITE)) as complaints:
        options = [word for machine in DEAD for word in ("--replace", machine)]
        project.longhaul("up", "--yes", *options)
    assert complaints == []
    assert changed(before, generations(project)) == set(DEAD)
    assert _voters(project) == set(MEMBERS)


def test_five_shrink_to_three(project: Project) -> None:
    before = generations(project)
    project.write(with_part(project.read(), "etcd", members=3))
    with repeated(lambda: tried_twice(project, *WRITE)) as complaints:
        project.longhaul("up", "--yes", "--only", "infrastructure")
    assert complaints == []
    after = generations(project)
    assert set(before) - set(after) == set(DEAD)
    assert all(before[name] == id_ for name, id_ in after.items())
    assert _voters(project) == set(MEMBERS[:3])
    assert project.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"
