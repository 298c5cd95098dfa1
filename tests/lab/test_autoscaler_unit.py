"""The autoscaler of the shared lab, which only looks: it runs on every API server's machine, one leads, and it reads
the groups of both clouds with an identity of its own."""

from __future__ import annotations

import json

import pytest

from components.model import load
from contract.object_names import AUTOSCALER
from tests.support.project import Project, eventually
from tests.support.shared_lab import SERVERS, SharedLab

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

METRICS = (
    "curl --silent --fail --max-time 5 --retry 60 --retry-connrefused --retry-delay 1 http://127.0.0.1:10268/metrics"
)
LOG = "journalctl --unit=longhaul-autoscaler --output=cat --lines=2000"


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def metrics(project: Project, machine: str) -> dict[str, float]:
    lines = project.on(machine, METRICS).stdout.splitlines()
    parts = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return {name.removeprefix("longhaul_autoscaler_"): float(value) for name, _, value in parts}


def leaders(project: Project) -> list[str]:
    return [name for name in SERVERS if metrics(project, name).get("leader") == 1]


def leader(project: Project) -> str:
    eventually(lambda: len(leaders(project)) == 1)
    return leaders(project)[0]


def test_it_runs_on_every_api_server_and_one_leads(project: Project) -> None:
    for machine in SERVERS:
        assert project.on(machine, "systemctl is-active longhaul-autoscaler").stdout.strip() == "active"
    found = leader(project)
    lease = json.loads(project.kubectl("get", "lease", AUTOSCALER, "--namespace=kube-system", "--output=json").stdout)
    assert lease["spec"]["holderIdentity"].endswith(found)


def test_it_reads_the_groups_of_all_clouds(project: Project) -> None:
    machine = leader(project)
    eventually(lambda: metrics(project, machine).get("passes_total", 0) >= 2)
    environment = load(project.stack_file)
    assert {environment.sites[pool.site].kind for pool in environment.pools.values()} == {"aws", "azure"}
    assert metrics(project, machine).get("groups_unread", 0) == 0, project.on(machine, LOG).stdout


def test_another_one_leads_when_the_leader_is_stopped(project: Project) -> None:
    first = leader(project)
    try:
        project.on(first, "systemctl stop longhaul-autoscaler")
        (other,) = [name for name in SERVERS if name != first]
        eventually(lambda: metrics(project, other).get("leader") == 1)
    finally:
        project.on(first, "systemctl start longhaul-autoscaler")
    leader(project)


def test_it_alone_is_given_its_tokens_and_no_others(project: Project) -> None:
    given = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/longhaul-scaling-token.sock'); "
    asking = f'runuser --user autoscaler -- python3 -c "{given}print(s.makefile().read())"'
    assert set(json.loads(project.on(SERVERS[0], asking).stdout)) == {"token", "until"}
    for user in ("node-controller", "node-join", "kube"):
        refused = project.on(SERVERS[0], asking.replace("autoscaler --", f"{user} --"), check=False)
        assert "PermissionError" in refused.stderr, user
    other = asking.replace("longhaul-scaling-token", "longhaul-cloud-token")
    assert "PermissionError" in project.on(SERVERS[0], other, check=False).stderr
