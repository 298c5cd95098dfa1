"""Nodes that somebody deleted come back; machines that never joined or do not answer are named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from contract.labels import RDMA_LABEL
from tests.lab.test_attest import join_again
from tests.support.cloud import instances
from tests.support.project import Project, eventually
from tests.support.shared_lab import ENV, GROUP, HOST, POOL, SharedLab, nodes, ready

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

GATEWAY = f"{ENV}-gw-0"
LOOK = "/usr/local/lib/longhaul/longhaul-program kubelet.registration --grace 0"
"""Command that the node's timer runs, without the time between its two looks."""
MUTE = "nft 'add table inet mute; add chain inet mute input { type filter hook input priority -10; }'"


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


def uid(project: Project, name: str) -> str:
    """Return the identity of a Node; empty when there is none."""
    found = {item["metadata"]["name"]: item["metadata"]["uid"] for item in nodes(project)}
    return str(found.get(name, ""))


def row(project: Project, part: str, name: str) -> dict[str, Any]:
    return next(dict(one) for one in project.status()[part] if one["name"] == name)


@pytest.mark.parametrize("where", ["AWS", "rack"])
def test_a_node_looks_for_itself_from_time_to_time(project: Project, where: str) -> None:
    name = HOST if where == "rack" else instances(project, GROUP)[0]
    assert project.on(name, "systemctl is-active longhaul-registered.timer").stdout.strip() == "active"
    before = project.on(name, "systemctl show --property=InvocationID kubelet").stdout
    project.on(name, LOOK)
    assert project.on(name, "systemctl show --property=InvocationID kubelet").stdout == before


def test_a_machine_whose_node_was_deleted_is_named_and_registers_again(project: Project) -> None:
    name = instances(project, GROUP)[0]
    before = uid(project, name)
    assert "ForgedProof" in join_again(project, name, name, cluster="prod")
    project.kubectl("delete", "node", name)
    status = project.status()
    assert not status["healthy"]
    lost = next(one for one in status["nodes"] if one["name"] == name)
    assert (lost["verdict"], lost["pool"]) == ("missing", POOL)
    assert "ForgedProof" in lost["message"]
    assert f"--instance-id {name}" in lost["message"]
    assert lost["created"]
    pool = next(one for one in status["pools"] if one["name"] == POOL)
    assert (pool["verdict"], pool["wanted"], pool["machines"], pool["ready"]) == ("degraded", 2, 2, 1)
    assert uid(project, name) == "", "a kubelet registers once"
    project.on(name, LOOK)
    eventually(lambda: name in ready(project))
    assert uid(project, name) not in ("", before)


def test_the_hosts_command_makes_a_node_of_what_was_one(project: Project) -> None:
    before = uid(project, HOST)
    project.kubectl("delete", "node", HOST)
    assert row(project, "nodes", HOST)["verdict"] == "missing"
    verdict = json.loads(project.longhaul("hosts", "--limit", HOST, "--json").stdout)["hosts"][HOST]
    assert verdict["state"] == "changed"
    assert HOST in ready(project)
    assert uid(project, HOST) not in ("", before)


def test_the_hosts_command_puts_labels_right_of_what_joined_before(project: Project) -> None:
    """A kubelet gives labels to a new Node alone, and the hosts file says something else now."""
    project.kubectl("label", "node", HOST, f"{RDMA_LABEL}=roce")
    verdict = json.loads(project.longhaul("hosts", "--limit", HOST, "--json").stdout)["hosts"][HOST]
    assert verdict["state"] == "changed"
    (found,) = (item for item in nodes(project) if item["metadata"]["name"] == HOST)
    assert RDMA_LABEL not in found["metadata"]["labels"]


@pytest.fixture(name="silent")
def _silent(project: Project) -> Iterator[str]:
    """Let the gateway drop whatever comes for SSH, as one that is off does."""
    project.on(GATEWAY, f"{MUTE} && nft add rule inet mute input tcp dport 22 drop")
    yield GATEWAY
    project.on(GATEWAY, "nft delete table inet mute")


def test_a_gateway_that_does_not_answer_is_told_so(project: Project, silent: str) -> None:
    done = project.longhaul("hosts", "--preflight", "--limit", silent, "--json", check=False)
    verdict = json.loads(done.stdout)["hosts"][silent]
    assert (done.returncode, verdict["state"]) == (3, "unreachable")
    found = row(project, "gateways", silent)
    assert found["verdict"] == "unreachable", "though its tunnels are up"
    assert "does not answer" in found["message"]


def test_everything_is_well_again(project: Project) -> None:
    assert {one["verdict"] for one in project.await_healthy()["gateways"]} == {"ok"}
