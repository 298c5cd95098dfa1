"""The whole hybrid cluster in the lab, from one file: three sites, one flat network."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from typing import Any

import pytest

from components.model import load, plan
from components.model.versions.section import pinned
from contract.users import SERVING_SIGNER
from tests.support.cloud import aws, instances
from tests.support.project import Project, eventually
from tests.support.requests import Requester, ask_for, node_requester, proved, refusal
from tests.support.shared_lab import ENV, GROUP, HOST, MACHINES, SPARE_HOSTS, SharedLab
from tests.support.webhook import SAYS, deny_labelled
from tests.support.workload import Talker, talkers

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

RACK = {HOST, *(f"{ENV}-{name}" for name in SPARE_HOSTS)}
"""Nodes of the rack; the cloud's are further ones."""


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    return shared_lab.take()


@pytest.fixture(scope="module", name="pods")
def _pods(project: Project) -> dict[str, Talker]:
    return talkers(project, pinned("agnhost"), aws="use1", rack="rack")


def _await_nodes(project: Project, machines: int) -> set[str]:
    """Wait until that many nodes are in the cloud besides the rack's, and all are ready; return all names."""

    def settled() -> bool:
        listed = project.kubectl("get", "nodes", "--output=name").stdout.split()
        return len(listed) == len(_nodes(project)) == machines + len(RACK)

    eventually(settled)
    return set(_nodes(project))


def _nodes(project: Project) -> dict[str, dict[str, Any]]:
    """Return the ready nodes by name."""
    listed = json.loads(project.kubectl("get", "nodes", "--output=json").stdout)["items"]
    return {
        item["metadata"]["name"]: item
        for item in listed
        if any(c["type"] == "Ready" and c["status"] == "True" for c in item["status"]["conditions"])
    }


def _unchanged(summary: dict[str, Any]) -> bool:
    return (summary["create"], summary["update"], summary["replace"], summary["delete"]) == (0, 0, 0, 0)


def test_make_lab_again_finds_all_of_it_in_place(project: Project) -> None:
    """The host must pass the checks although the running lab uses most of what they require."""
    project.up()
    assert "nothing was changed since the last `longhaul up`" in project.up()
    assert _unchanged(json.loads(project.longhaul("plan", "--raw", "--format", "json").stdout))


def test_nodes_say_where_they_are(project: Project) -> None:
    _await_nodes(project, MACHINES)
    nodes = _nodes(project)
    labels = {name: item["metadata"]["labels"] for name, item in nodes.items()}
    assert {name for name, has in labels.items() if has["longhaul.dev/site"] == "rack"} == RACK
    cloud = {name for name, has in labels.items() if has["longhaul.dev/site"] == "use1"}
    assert cloud == set(instances(project, GROUP))
    for name in cloud:
        zone = labels[name]["topology.kubernetes.io/zone"]
        assert labels[name]["topology.kubernetes.io/region"] == "us-east-1"
        assert labels[name]["longhaul.dev/pool"] == "cpu"
        assert nodes[name]["spec"]["providerID"] == f"aws:///{zone}/{name}"
    assert nodes[HOST]["spec"]["providerID"] == f"longhaul://{ENV}/rack/node-0"


def test_pods_have_addresses_of_their_site(project: Project, pods: dict[str, Talker]) -> None:
    sites = plan(load(project.stack_file)).sites
    assert IPv4Address(pods["aws"].address) in sites["use1"].pods
    assert IPv4Address(pods["rack"].address) in sites["rack"].pods


def test_pods_reach_each_other_by_address_without_masquerade(pods: dict[str, Talker]) -> None:
    assert pods["aws"].dial(pods["rack"].address) == "rack"
    assert pods["rack"].dial(pods["aws"].address) == "aws"
    assert pods["aws"].dial(pods["rack"].address, "clientip").startswith(f"{pods['aws'].address}:")
    assert pods["rack"].dial(pods["aws"].address, "clientip").startswith(f"{pods['rack'].address}:")


def test_pods_reach_each_other_by_name(pods: dict[str, Talker]) -> None:
    # A Service leads to its pod once each node knows that the pod is ready.
    eventually(lambda: pods["aws"].dial("rack") == "rack")
    eventually(lambda: pods["rack"].dial("aws.default.svc.cluster.local") == "aws")


def test_the_operator_reaches_pods(project: Project, pods: dict[str, Talker]) -> None:
    assert {talker.get("/hostname") for talker in pods.values()} == {"aws", "rack"}
    operator = str(plan(load(project.stack_file)).operators[1])
    assert pods["rack"].get("/clientip").startswith(f"{operator}:")


def test_pods_do_not_reach_the_metadata(project: Project, pods: dict[str, Talker]) -> None:
    # The machine gets an answer, if only that it shows no token: so the pod's silence is no fault of the service.
    ask = "curl --silent --max-time 5 http://169.254.169.254/"
    assert project.on(pods["aws"].node, ask).stdout
    assert pods["aws"].dial("169.254.169.254", port=80) == ""


def test_logs_and_commands_reach_both_nodes(project: Project, pods: dict[str, Talker]) -> None:
    """The API servers call the kubelets through the tunnels."""
    for name in pods:
        assert project.kubectl("exec", name, "--", "/agnhost", "--help").returncode == 0


@pytest.mark.parametrize("site", ["use1", "rack"])
def test_the_api_servers_call_a_webhook_in_a_pod(project: Project, site: str) -> None:
    name = f"webhook-{site}"
    deny_labelled(project, name, site=site, version=pinned("agnhost"))
    labelled = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"refused-by": name}}}
    refused = f'admission webhook "{name}.longhaul.test" denied the request: {SAYS}'
    # An API server learns of a new webhook by its watch.
    eventually(lambda: refused in project.create(labelled, "--dry-run=server", check=False).stderr)


def test_only_tunnels_are_on_the_internet(project: Project, pods: dict[str, Talker]) -> None:
    capture = project.in_background("capture", "--seconds", "5", "--json")
    while capture.poll() is None:
        assert pods["aws"].dial(pods["rack"].address) == "rack"
    seen = json.loads(capture.communicate()[0])
    assert seen["in_the_clear"] == []
    assert "esp-in-udp" in {flow["kind"] for flow in seen["flows"] if flow["to"] == f"{ENV}-gw-0"}


def test_a_cut_tunnel_is_the_only_path(project: Project, pods: dict[str, Talker]) -> None:
    project.lab("tunnel", f"{ENV}-gw-0", "cut")
    try:
        eventually(lambda: pods["aws"].dial(pods["rack"].address) == "")
    finally:
        project.lab("tunnel", f"{ENV}-gw-0", "restore")
    eventually(lambda: pods["aws"].dial(pods["rack"].address) == "rack")
    assert [talker.restarts() for talker in pods.values()] == [0, 0]
    # A long cut makes the rack's node unready until its kubelet has reported again.
    _await_nodes(project, MACHINES)


def test_a_machine_that_does_not_exist_gets_no_certificate(project: Project) -> None:
    name = ask_for(project, "i-00000000000000000", proved("i-00000000000000000"))
    assert "i-00000000000000000" in refusal(project, name)


def test_a_live_node_is_not_impersonated(project: Project) -> None:
    node = instances(project, GROUP)[0]
    assert node in refusal(project, ask_for(project, node, proved(node)))


def test_a_machine_is_what_it_proved(project: Project) -> None:
    node = instances(project, GROUP)[0]
    assert "i-00000000000000000" in refusal(project, ask_for(project, node, proved("i-00000000000000000")))


def test_a_node_gets_no_foreign_address(project: Project) -> None:
    node = instances(project, GROUP)[0]
    name = ask_for(project, node, node_requester(node), signer=SERVING_SIGNER, addresses=["10.144.0.99"])
    assert "10.144.0.99" in refusal(project, name)


def test_a_pod_cannot_even_ask(project: Project) -> None:
    node = instances(project, GROUP)[0]
    pod = Requester(user="system:serviceaccount:default:default", groups=("system:serviceaccounts",))
    with pytest.raises(AssertionError, match="cannot create resource"):
        ask_for(project, node, pod)


def test_a_pod_that_may_ask_is_refused(project: Project) -> None:
    node = instances(project, GROUP)[0]
    account = "system:serviceaccount:default:default"
    project.kubectl(
        "create", "clusterrolebinding", "test", "--clusterrole=system:node-bootstrapper", f"--user={account}"
    )
    try:
        name = ask_for(project, node, Requester(user=account, groups=("system:serviceaccounts",)))
        assert refusal(project, name)
    finally:
        project.kubectl("delete", "clusterrolebinding", "test")


@pytest.mark.parametrize("words", [["--preflight"], []])
def test_racks_have_a_verdict_each(project: Project, words: list[str]) -> None:
    hosts = json.loads(project.longhaul("hosts", "--json", *words).stdout)["hosts"]
    found = {name: (host["state"], host["changed"]) for name, host in hosts.items()}
    assert found == dict.fromkeys((f"{ENV}-gw-0", *RACK), ("ready", 0))


def test_a_vanished_machine_comes_back(project: Project) -> None:
    """After an instance was deleted without the engine, the group makes another one, which joins."""
    gone = instances(project, GROUP)[0]
    aws(project, "ec2", "terminate_instances", InstanceIds=[gone])

    def another() -> bool:
        found = set(instances(project, GROUP))
        return len(found) == MACHINES and gone not in found and found <= set(_nodes(project))

    eventually(another)
    assert gone not in _await_nodes(project, MACHINES)
