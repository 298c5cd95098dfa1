"""Links, nodes and add-ons: the verdicts that follow from the answers of clouds and API."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from clouds.aws import tunnels as aws
from clouds.azure import tunnels as azure
from clouds.base.errors import CloudError
from clouds.base.tunnels import link_of
from components.model import Environment, load
from components.model.sites.places import place_of
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.labels import UNCHECKED
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status import cluster, tunnels
from longhaul.status.fleet import judge_addons, judge_links, judge_nodes
from longhaul.status.observed import AddonView, ApiEndpoint, ClusterView, Observed
from longhaul.status.pools import judge_pools
from longhaul.status.ssh_probes import answer
from tests.longhaul.status.test_status import CLUSTER, TUNNELS, node, tunnel

SEEN = Observed(
    cloud={}, endpoint=ApiEndpoint(url="", reached=True, ready=True), tunnels=TUNNELS, blind={}, cluster=CLUSTER
)


@pytest.fixture(name="environment", scope="module")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


def verdicts(parts: Any) -> dict[str, StatusVerdict]:
    return {part.name: part.verdict for part in parts}


def test_links_that_are_up(environment: Environment) -> None:
    found = {link.name: link for link in judge_links(environment, SEEN)}
    assert set(verdicts(found.values()).values()) == {StatusVerdict.OK}
    assert (found["weu-use1"].bytes_in, found["weu-use1"].bytes_out) == (3 * 2**20, 10)
    assert found["weu-use1"].since == "2026-01-02T03:04:06+00:00"
    assert (found["use1-rack"].up, found["use1-rack"].tunnels, found["use1-rack"].bytes_in) == (2, 2, None)


def test_a_link_is_as_well_as_the_end_that_sees_it_worst(environment: Environment) -> None:
    worse = (*TUNNELS[:-1], tunnel("use1-rack", "use1", up=False))
    links = {link.name: link for link in judge_links(environment, replace(SEEN, tunnels=worse))}
    link = links["use1-rack"]
    assert (link.verdict, link.up, link.tunnels) == (StatusVerdict.DEGRADED, 1, 2)
    assert "it is down" in link.message
    none = (tunnel("weu-use1", "weu"), tunnel("weu-use1", "use1", up=False))
    assert judge_links(environment, replace(SEEN, tunnels=none))[0].verdict is StatusVerdict.DOWN


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ("carried\n", (0, 0)),
        ("carried\ncarried use1-gw-0-1 5 6\ncarried use1-gw-0-0 50 60\ncarried weu-gw-0-0 700 800\n", (55, 66)),
        ("unhealthy strongswan.service does not run\n", (None, None)),
    ],
    ids=["carries nothing", "carries", "does not count"],
)
def test_racks_count_what_no_cloud_counts(
    environment: Environment, told: str, counted: tuple[int | None, int | None]
) -> None:
    seen = replace(SEEN, ssh_probes={"lab-gw-0": answer(0, told, "")})
    links = {link.name: (link.bytes_in, link.bytes_out) for link in judge_links(environment, seen)}
    assert (links["use1-rack"], links["weu-rack"]) == (counted, (1, 2)), "Azure counts its own"


def test_a_cloud_that_does_not_say_leaves_its_links_unknown(environment: Environment) -> None:
    blind = replace(SEEN, tunnels=(), blind={"use1": "AWS us-east-1: no credentials"})
    assert {link.verdict for link in judge_links(environment, blind)} == {StatusVerdict.UNKNOWN}
    assert "no credentials" in judge_links(environment, blind)[0].message


def test_a_host_that_is_no_node_is_missing(environment: Environment) -> None:
    without = replace(SEEN, cluster=replace(CLUSTER, nodes=CLUSTER.nodes[:1]))
    assert verdicts(judge_nodes(environment, without)) == {"i-1": StatusVerdict.OK, "lab-node-0": StatusVerdict.MISSING}
    assert verdicts(judge_pools(environment, without)) == {"cpu": StatusVerdict.OK, "hosts": StatusVerdict.DOWN}


def test_an_unready_node_says_why_and_counts_for_its_pool(environment: Environment) -> None:
    nodes = (node("i-1", pool="cpu", site="use1", ready=False), *CLUSTER.nodes[1:])
    unready = replace(SEEN, cluster=replace(CLUSTER, nodes=nodes))
    found = judge_nodes(environment, unready)[0]
    assert (found.verdict, found.message) == (StatusVerdict.UNHEALTHY, "the kubelet says nothing")
    assert verdicts(judge_pools(environment, unready))["cpu"] is StatusVerdict.DOWN


@pytest.mark.parametrize(
    ("addons", "verdict"),
    [
        ((), StatusVerdict.MISSING),
        ((AddonView(name="coredns", ready=1, wanted=2),), StatusVerdict.DEGRADED),
        ((AddonView(name="coredns", ready=0, wanted=2),), StatusVerdict.DOWN),
    ],
)
def test_dns_has_to_be_there(environment: Environment, addons: tuple[AddonView, ...], verdict: StatusVerdict) -> None:
    found = judge_addons(environment, replace(SEEN, cluster=replace(CLUSTER, addons=addons)))
    missing = {f"coredns-{site}": StatusVerdict.MISSING for site in ("use1", "rack")}
    assert verdicts(found) == {"coredns": verdict, **missing}, "and each site's own"


def test_without_nodes_dns_has_nowhere_to_run(environment: Environment) -> None:
    none = environment.model_copy(update={"pools": {}, "hosts": ()})
    waiting = ClusterView(addons=(AddonView(name="coredns", ready=0, wanted=2),))
    assert verdicts(judge_addons(none, replace(SEEN, cluster=waiting))) == {"coredns": StatusVerdict.UNKNOWN}


def test_an_api_that_does_not_say_is_no_fault_of_the_nodes(environment: Environment) -> None:
    silent = replace(SEEN, cluster=ClusterView(error="not reachable from here"))
    assert judge_nodes(environment, silent) == ()
    parts = (*judge_pools(environment, silent), *judge_addons(environment, silent))
    assert {part.verdict for part in parts} == {StatusVerdict.UNKNOWN}
    assert {part.message for part in parts} == {"not reachable from here"}


NAMES = ("weu-use1", "weu-rack", "weu-rack-2")


@pytest.mark.parametrize(
    ("resource", "link"),
    [
        ("lab-links-weu-use1-0-1", "weu-use1"),
        ("lab-links-weu-rack-gw-0", "weu-rack"),
        ("lab-links-weu-rack-2-gw-0", "weu-rack-2"),
        ("other-links-weu-use1-0-1", None),
        ("lab-links-weu-use2-0", None),
    ],
)
def test_a_connection_belongs_to_the_link_it_is_named_after(
    environment: Environment, resource: str, link: str | None
) -> None:
    assert link_of(place_of(environment, "weu"), resource, NAMES) == link


def test_azures_answer() -> None:
    established = [
        {"tunnel": "a", "connectionStatus": "Connected", "lastConnectionEstablishedUtcTime": "2026-01-02T03:04:05Z"},
        {"tunnel": "b", "connectionStatus": "NotConnected", "lastConnectionEstablishedUtcTime": "2026-02-02T03:04:05Z"},
    ]
    properties = {
        "connectionStatus": "Connected",
        "ingressBytesTransferred": 5,
        "egressBytesTransferred": 6,
        "tunnelConnectionStatus": established,
    }
    view = azure.view_of("weu-use1", "weu", {"name": "n", "properties": properties})
    assert (view.up, view.since, view.bytes_in, view.bytes_out) == (True, "2026-01-02T03:04:05Z", 5, 6)
    down = azure.view_of("weu-use1", "weu", {"name": "n", "properties": {"connectionStatus": "NotConnected"}})
    assert (down.up, down.reason) == (False, "Azure says NotConnected")


def test_awss_answer(environment: Environment) -> None:
    changed = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    telemetry = [
        {"OutsideIpAddress": "198.51.100.97", "Status": "UP", "LastStatusChange": changed},
        {"OutsideIpAddress": "198.51.100.98", "Status": "DOWN", "StatusMessage": "IPSEC IS DOWN"},
    ]
    tags = [{"Key": "Name", "Value": "lab-links-use1-rack-gw-0"}]
    connection = {"Tags": tags, "VgwTelemetry": telemetry}
    place = place_of(environment, "use1")
    up, down = aws.views_of(place, connection, ("use1-rack",))
    assert (up.link, up.up, up.since) == ("use1-rack", True, "2026-01-02T03:04:05+00:00")
    assert (down.up, down.reason) == (False, "AWS says IPSEC IS DOWN")
    assert list(aws.views_of(place, {**connection, "Tags": []}, ("use1-rack",))) == []


def test_a_cloud_that_fails_does_not_hide_the_others(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_environment: Environment, site: str, names: Any) -> Any:
        if site == "use1":
            raise CloudError("no credentials")
        return [tunnel("weu-rack", site)] if site == "weu" else []

    monkeypatch.setattr(tunnels, "_ask", ask)
    found, blind = tunnels.ask_tunnels(environment)
    assert [view.site for view in found] == ["weu"]
    assert blind == {"use1": "no credentials"}


class Pages(Api):
    """The API as pages, by their address."""

    def __init__(self, pages: dict[str, dict[str, Any]]) -> None:
        self.answers, self._ahead = pages, 0.0

    def get(self, path: str, **query: str) -> dict[str, Any]:
        return self.answers[f"{path}?{urlencode(query)}"]


def event(name: str, at: str, message: str) -> dict[str, Any]:
    return {"involvedObject": {"name": name}, "lastTimestamp": at, "message": message}


EVENTS = {
    "NodeProofRefused": [event("i-9", "2026-01-02T03:00:00Z", "StaleProof: too old")],
    "NodeRequestDenied": [event("longhaul-join-ab", "2026-01-02T03:01:00Z", "UnknownMachine: there is no machine i-8")],
}


def api(*pages: dict[str, Any]) -> Pages:
    left = {f"/api/v1/nodes?limit=500{follow}": page for follow, page in zip(("", "&continue=t"), pages, strict=False)}
    left["/apis/apps/v1/namespaces/kube-system/deployments?limit=500"] = {
        "items": [{"metadata": {"name": "coredns"}, "spec": {"replicas": 2}, "status": {}}]
    }
    left["/apis/apps/v1/namespaces/kube-system/daemonsets?limit=500"] = {
        "items": [
            {
                "metadata": {"name": "agent"},
                "spec": {"template": {"spec": {"nodeSelector": {"nvidia.com/gpu.present": "true"}}}},
                "status": {"desiredNumberScheduled": 3, "numberReady": 2},
            },
        ]
    }
    renewed = {"a": "2026-01-02T03:04:05.000000Z", "b": datetime.now(tz=UTC).isoformat()}
    left["/api/v1/pods?limit=500&fieldSelector=status.phase%3DPending"] = {"items": []}
    left["/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?limit=500"] = {
        "items": [{"metadata": {"name": name}, "spec": {"renewTime": time}} for name, time in renewed.items()]
    }
    for reason, events in EVENTS.items():
        left[f"/api/v1/namespaces/default/events?limit=500&fieldSelector=reason%3D{reason}"] = {"items": events}
    return Pages(left)


def item(name: str, ready: str, **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": ready, "message": "so it says"}]
    labels = {"longhaul.dev/site": "use1", "longhaul.dev/pool": "cpu"}
    metadata = {"name": name, "labels": labels, "creationTimestamp": "2026-01-02T03:04:05Z"}
    status = {"conditions": conditions, "nodeInfo": {"kubeletVersion": "v1.30.3"}}
    return {"metadata": metadata, "spec": spec, "status": status}


def test_nodes_are_read_page_by_page(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"items": [item("a", "True", unschedulable=True)], "metadata": {"continue": "t"}}
    second = {"items": [item("b", "Unknown"), {"metadata": {"name": "c"}}]}
    monkeypatch.setattr(cluster, "Api", lambda _url, _identity, **_: api(first, second))
    found = cluster.ask_cluster(environment, {})
    assert [(one.name, one.ready, one.message) for one in found.nodes] == [
        ("a", True, "cordoned"),
        ("b", False, "so it says"),
        ("c", False, "it has never been ready"),
    ]
    assert {name: lease.expired for name, lease in found.late.items()} == {"a": True}
    assert found.nodes[0].site == "use1"
    assert found.refusals == (
        "longhaul-join-ab: 2026-01-02T03:01:00Z: UnknownMachine: there is no machine i-8",
        "i-9: 2026-01-02T03:00:00Z: StaleProof: too old",
    )
    assert found.addons == (
        AddonView(name="coredns", ready=0, wanted=2),
        AddonView(name="agent", ready=2, wanted=3, on_gpus=True),
    )


def test_a_node_that_waits_for_the_controller_says_so() -> None:
    one = item("a", "True")
    one["metadata"]["labels"][UNCHECKED] = "true"
    assert cluster.node(one).message.startswith("the node controller has not checked it yet")
    assert cluster.node(item("a", "True")).message == ""


def test_hosts_are_called_so_whatever_their_label_says() -> None:
    one = item("a", "True")
    one["metadata"]["labels"]["longhaul.dev/pool"] = "bare-metal"
    assert cluster.node(one).pool == "hosts"


@pytest.mark.parametrize(
    ("verdict", "tainted", "verdict_is", "said"),
    [
        (None, True, StatusVerdict.UNHEALTHY, "its GPUs have not been tested yet"),
        (
            ("False", "XidFatal", "Xid 79 at 0000:18:00"),
            True,
            StatusVerdict.UNHEALTHY,
            "XidFatal: Xid 79 at 0000:18:00",
        ),
        (("Unknown", "GpusInUse", "waits"), True, StatusVerdict.UNHEALTHY, "GpusInUse: waits"),
        (("True", "GpusHealthy", "2 GPUs"), True, StatusVerdict.UNHEALTHY, "wait for the node controller"),
        (("True", "GpusHealthy", "2 GPUs"), False, StatusVerdict.OK, "ready"),
    ],
)
def test_a_node_whose_gpus_are_held_back_is_not_well(
    environment: Environment, verdict: tuple[str, str, str] | None, tainted: bool, verdict_is: StatusVerdict, said: str
) -> None:
    taints = [{"key": "longhaul.dev/preflight", "effect": "NoSchedule"}] if tainted else []
    one = item("a", "True", taints=taints)
    assert cluster.node(one).gpus == "", "it has none"
    one["metadata"]["labels"]["nvidia.com/gpu.present"] = "true"
    if verdict:
        condition = dict(zip(("status", "reason", "message"), verdict, strict=True))
        one["status"]["conditions"].append({"type": "longhaul.dev/GpuHealthy", **condition})
    seen = replace(SEEN, cluster=replace(CLUSTER, nodes=(cluster.node(one),)))
    found = judge_nodes(environment, seen)[0]
    assert found.verdict is verdict_is
    assert said in found.message


def test_an_api_that_cannot_be_reached_says_why(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    class Nobody(Pages):
        def get(self, path: str, **query: str) -> dict[str, Any]:
            raise error

    monkeypatch.setattr(cluster, "Api", lambda _url, _identity, **_: Nobody({}))
    error = ApiError("https://api:6443 does not answer", reason="Network is unreachable")
    assert cluster.ask_cluster(environment, {}).error.endswith(":6443: Network is unreachable")
    error = ApiError("no", status=403, reason="Forbidden")
    assert cluster.ask_cluster(environment, {}).error.endswith(":6443 answers 403")
    assert "vault" in cluster.ask_cluster(environment, None).error
