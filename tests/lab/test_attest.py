"""A pool's machines in the lab prove their identity with their cloud's means, and nothing else admits anybody."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from contract.labels import POOL_LABEL
from tests.support.cloud import instances, resize
from tests.support.project import Project, eventually
from tests.support.shared_lab import GROUP, HOST, MACHINES, POOL, SERVERS, SharedLab, nodes, ready

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

POOLED = f"--selector={POOL_LABEL}={POOL}"

PROVE = """
import dataclasses, json, sys
from pathlib import Path
sys.path.insert(0, "/usr/local/lib/longhaul")
from node import attest as node_attest
from node import proofs as node_proofs
node, changes = sys.argv[1], json.loads(sys.argv[2])
settings = node_attest.JoinSettings(**json.loads(Path("/etc/longhaul/node.json").read_text())["join"])
folder = Path("/run/test-attest")
paths = node_attest.JoinPaths(key=folder / "key", folder=folder, kubeconfig=folder / "kubeconfig")
prove = node_proofs.prover("aws")
try:
    node_attest.join(node, settings, lambda asked: prove(dataclasses.replace(asked, **changes)), paths=paths)
except node_attest.JoinError as error:
    print(error)
    sys.exit(1)
"""
"""Joins once more, as ``node``. With ``changes`` it answers another question than was asked, as a thief must."""


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Iterator[Project]:
    project = shared_lab.take()
    yield project
    # However the last test ended, a later machine has to be able to join.
    for server in SERVERS:
        project.on(server, "systemctl start longhaul-join", check=False)


@pytest.fixture(name="machines")
def _machines(project: Project) -> list[str]:
    return instances(project, GROUP)


def _items(project: Project, *what: str) -> list[dict[str, Any]]:
    return list(json.loads(project.kubectl("get", *what, "--output=json").stdout)["items"])


def join_again(project: Project, machine: str, node: str, **changes: str) -> str:
    """Try to join again as root on ``machine``, and return the refusal."""
    words = ["python3", "-B", "-c", PROVE, node, json.dumps(changes)]
    done = project.on(machine, f"rm -rf /run/test-attest; {shlex.join(words)}", check=False)
    assert done.returncode == 1, done.stdout
    return done.stdout


def _asked(project: Project) -> set[str]:
    """Return the names of the requests that the join endpoint has made."""
    return {item["metadata"]["name"] for item in _items(project, "csr") if item["spec"]["username"] == "longhaul:join"}


def _told(project: Project, reason: str) -> list[str]:
    return [item["message"] for item in _items(project, "events", "--all-namespaces") if item["reason"] == reason]


def test_machines_of_a_pool_joined_by_proof(project: Project, machines: list[str]) -> None:
    made = {
        item["metadata"]["annotations"]["longhaul.dev/machine"]: item["metadata"]["annotations"]["longhaul.dev/site"]
        for item in _items(project, "csr")
        if item["spec"]["username"] == "longhaul:join" and item["status"].get("certificate")
    }
    # Requests outlive their machines: some are of machines that have ended.
    assert {machine: made.get(machine) for machine in machines} == dict.fromkeys(machines, "use1")
    assert set(made.values()) == {"use1"}
    assert set(machines) <= ready(project)


def test_no_token_lets_anybody_in(project: Project, machines: list[str]) -> None:
    secrets = _items(project, "secrets", "--namespace=kube-system")
    assert [item for item in secrets if item["type"] == "bootstrap.kubernetes.io/token"] == []
    for machine in machines:
        left = project.on(machine, "ls /etc/longhaul /var/lib/kubelet/pki").stdout.split()
        assert not {"join.kubeconfig", "longhaul-join.key"} & set(left)


def test_a_restart_asks_nobody(project: Project, machines: list[str]) -> None:
    before = _asked(project)
    project.on(machines[0], "systemctl restart kubelet")
    project.on(machines[0], "longhaul-node ready --wait 60")
    # Requests of others that were there before may be cleaned up meanwhile.
    assert _asked(project) <= before


def test_who_is_root_on_a_machine_cannot_be_another(project: Project, machines: list[str]) -> None:
    thief, other = machines
    assert "WrongMachine" in join_again(project, thief, other)
    assert any(other in message and thief in message for message in _told(project, "NodeRequestDenied"))


def test_a_machine_s_identity_is_worth_nothing_while_it_lives(project: Project, machines: list[str]) -> None:
    assert "NameIsLive" in join_again(project, machines[0], machines[0])


@pytest.mark.parametrize(
    "changes",
    [{"fingerprint": "ab" * 32}, {"challenge": "0123456789"}, {"cluster": "prod"}],
    ids=["key", "challenge", "cluster"],
)
def test_a_stolen_proof_is_of_another_question(project: Project, machines: list[str], changes: dict[str, str]) -> None:
    assert "ForgedProof" in join_again(project, machines[0], machines[0], **changes)
    assert any(message.startswith("ForgedProof") for message in _told(project, "NodeProofRefused"))


def test_only_machines_of_pools_reach_the_service(project: Project, machines: list[str]) -> None:
    place = json.loads(project.on(machines[0], "cat /etc/longhaul/node.json").stdout)["join"]
    ask = f"curl -ks --max-time 5 https://{place['address']}:{place['port']}/healthz"
    assert project.on(machines[0], ask).stdout == "{}"
    assert project.on(HOST, ask, check=False).stdout == ""


def test_a_service_that_is_away_delays_and_refuses_nobody(project: Project, machines: list[str]) -> None:
    """A machine that comes meanwhile joins once the service is back on either of the servers."""
    for server in SERVERS:
        project.on(server, "systemctl stop longhaul-join")
    resize(project, GROUP, 3)
    eventually(lambda: len(instances(project, GROUP)) == 3)
    (added,) = set(instances(project, GROUP)) - set(machines)
    journal = "journalctl --unit=kubelet --output=cat"
    eventually(lambda: "not yet: the join service" in project.on(added, journal, check=False).stdout)
    project.on(SERVERS[1], "systemctl start longhaul-join")
    eventually(lambda: added in ready(project))
    project.on(SERVERS[0], "systemctl start longhaul-join")


def test_the_group_follows_the_clouds_own_api(project: Project) -> None:
    """With the machine of the test before: the engine leaves the group its size, and a node goes with its machine."""
    resize(project, GROUP, MACHINES + 1)
    eventually(lambda: len(ready(project).intersection(instances(project, GROUP))) == MACHINES + 1)
    assert json.loads(project.longhaul("plan", "--raw", "--format", "json").stdout)["update"] == 0
    resize(project, GROUP, MACHINES)
    eventually(lambda: {item["metadata"]["name"] for item in nodes(project, POOLED)} == set(instances(project, GROUP)))
    assert len(instances(project, GROUP)) == MACHINES
