"""A highly available control plane: machines are replaced one at a time, lost ones come back, and kubectl keeps
working."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from tests.support.control_plane import (
    MACHINE,
    changed,
    generations,
    kept_project,
    lifecycle,
    one_at_a_time,
    repeated,
    tried_twice,
    up,
    with_part,
)
from tests.support.project import Project, environment, run

pytestmark = [pytest.mark.lab, pytest.mark.drill]

MEMBERS = ("three-etcd-0", "three-etcd-1", "three-etcd-2")
SERVERS = ("three-api-0", "three-api-1")

DELETE = """
post() { curl -sf "https://login.microsoftonline.com/$AZURE_TENANT_ID/oauth2/v2.0/token" "$@"; }
answer=$(post -d grant_type=client_credentials -d client_id=$AZURE_CLIENT_ID -d client_secret=$AZURE_CLIENT_SECRET \
  -d scope=https://management.azure.com/.default)
token=$(echo "$answer" | python3 -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')
group=https://management.azure.com/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/three-weu
curl -sf -X DELETE -H "Authorization: Bearer $token" \
  "$group/providers/Microsoft.Compute/virtualMachines/$1?api-version=2024-07-01"
"""
"""Deletes a machine as a user would in the portal, without the knowledge of our programs."""


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = environment("three", supernet="10.112.0.0/12", etcd=3, api=2)
    with kept_project(tmp_path_factory.mktemp("replacement"), raw) as project:
        yield project


def _asking(project: Project) -> AbstractContextManager[list[str]]:
    """Ask the API repeatedly during the block; return its errors."""
    return repeated(lambda: tried_twice(project, "get", "configmap", "kept"))


def test_three_members_vote_and_two_servers_serve(project: Project) -> None:
    status = project.await_healthy()
    members = status["etcd_clusters"]["etcd"]["members"]
    assert sorted(member["name"] for member in members) == list(MEMBERS)
    assert all(member["healthy"] and not member["learner"] for member in members)
    for holder in ("kube-controller-manager", "kube-scheduler"):
        lease = project.kubectl("-n", "kube-system", "get", "lease", holder, "-o", "jsonpath={.spec.holderIdentity}")
        assert lease.stdout.startswith("three-api-")


def test_replacing_all_members_takes_one_at_a_time_and_loses_nothing(project: Project) -> None:
    before = generations(project)
    project.write(with_part(project.read(), "etcd", quota_gib=7))
    with _asking(project) as complaints:
        up(project)
    assert changed(before, generations(project)) == set(MEMBERS)
    assert sorted(one_at_a_time(lifecycle(project))) == list(MEMBERS)
    assert complaints == []
    assert project.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"
    project.await_healthy()


def test_replacing_all_servers_takes_one_at_a_time_and_nobody_notices(project: Project) -> None:
    before = generations(project)
    project.write(with_part(project.read(), "api", machine_type="Standard_D4s_v5"))
    with _asking(project) as complaints:
        up(project)
    assert changed(before, generations(project)) == set(SERVERS)
    assert sorted(one_at_a_time(lifecycle(project))) == list(SERVERS)
    assert complaints == []


def test_a_member_is_not_deleted_when_its_store_would_lose_quorum(project: Project) -> None:
    before = generations(project)
    project.on("three-etcd-2", "systemctl stop etcd")
    raw = project.read()
    project.write(with_part(raw, "etcd", quota_gib=6))
    exported = json.loads(project.engine("stack", "export").stdout)["deployment"]["resources"]
    (urn,) = [r["urn"] for r in exported if r["type"] == MACHINE and r["urn"].endswith("::three-etcd-0")]
    try:
        done = project.engine("up", "--yes", "--skip-preview", "--target", urn, check=False)
        assert done.returncode != 0
        assert "three-etcd-0 must stay: three-etcd-2 is not healthy" in done.stdout + done.stderr
        assert generations(project) == before
        assert project.kubectl("get", "configmap", "kept").returncode == 0
    finally:
        project.write(raw)


def test_the_member_that_is_not_well_is_replaced_first(project: Project) -> None:
    project.write(with_part(project.read(), "etcd", quota_gib=5))
    up(project)
    order = one_at_a_time(lifecycle(project))
    assert order[0] == "three-etcd-2"
    assert sorted(order) == list(MEMBERS)
    project.await_healthy()


def test_what_vanishes_is_made_anew_and_kubectl_goes_on(project: Project) -> None:
    before = generations(project)
    old = _member_id(project, "three-etcd-1")
    with _asking(project) as complaints:
        project.cut_power("three-etcd-1")
        for machine in ("three-etcd-1", "three-api-0"):
            _delete(project, machine)
        project.longhaul("up", "--yes", "--", "--refresh", "--skip-preview")
    assert complaints == []
    assert changed(before, generations(project)) == {"three-etcd-1", "three-api-0"}
    journal = project.on("three-etcd-1", "journalctl --unit etcd --unit etcd-promote --output cat --no-pager").stdout
    # Each line once: etcd refuses a removal until it has seen that the member is gone, so it is retried and logged
    # again.
    told = list(dict.fromkeys(line for line in journal.splitlines() if line.startswith(("removing", "three-etcd-1"))))
    assert told == [f"removing the old member {old} (three-etcd-1)", "three-etcd-1: join", "three-etcd-1 votes"]
    assert project.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"


def test_what_is_switched_off_is_started_a_store_without_quorum_too(project: Project) -> None:
    before = generations(project)
    project.cut_power("three-etcd-0", "three-etcd-2", "three-api-1")
    project.longhaul("up", "--yes", "--only", "infrastructure", "--", "--skip-preview")
    assert generations(project) == before
    assert project.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}").stdout == "b"


def _member_id(project: Project, machine: str) -> str:
    members = json.loads(project.on(machine, "longhaul-node status").stdout)["members"]
    (found,) = [member["id"] for member in members if member["name"] == machine]
    return str(found)


def _delete(project: Project, machine: str) -> None:
    run([str(project.state / "enter"), "bash", "-c", DELETE, "bash", machine])
