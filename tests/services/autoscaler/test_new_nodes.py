"""A pool's new node: its labels, its room, and the pods of daemon sets."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.aws.machine_types import AwsMachineTypes
from clouds.azure.machine_types import AzureMachineTypes
from clouds.base.pool_section import Taint
from contract.kubernetes.paths import NAMESPACES
from longhaul.cli.examples import example
from services.autoscaler.cluster_state import DAEMON_SETS
from services.autoscaler.new_node_labels import new_node_labels, zone_variants
from tests.services.autoscaler.api_objects import Object, pod
from tests.services.autoscaler.listed_cluster import (
    Lists,
    Standing,
    actions,
    cpu_node,
    daemon_set,
    machine,
)

ZONE = "topology.kubernetes.io/zone"
GROWS = "grow prod-cpu from 0 to 1: for team/{}"


def six(groups: dict[str, Standing]) -> list[str]:
    """Let the pool ``cpu`` have six machines, and return their names."""
    names = [f"i-{index}" for index in range(6)]
    groups["cpu"] = Standing(machines=tuple(map(machine, names)))
    return names


@pytest.mark.parametrize(
    "label",
    ["kubernetes.io/os=linux", "kubernetes.io/arch=amd64", "beta.kubernetes.io/os=linux",
     "beta.kubernetes.io/arch=amd64", "node.kubernetes.io/instance-type=m7i.4xlarge",
     "topology.kubernetes.io/region=us-east-1"],
)  # fmt: skip
def test_a_new_node_has_the_labels_of_its_kubelet(groups: dict[str, Standing], label: str) -> None:
    key, _, value = label.partition("=")
    web = pod("web", requests={"cpu": "1"}, nodeSelector={key: value})
    assert actions(Lists(pods=[web])) == [GROWS.format("web")]
    other = pod("web", requests={"cpu": "1"}, nodeSelector={key: "other"})
    (told,) = actions(Lists(pods=[other]))
    assert told.startswith(f"tell team/web: no pool can hold this: it is not {key}=other")


def test_full_nodes_with_the_label_do_not_hide_that_a_new_one_has_it(groups: dict[str, Standing]) -> None:
    names = six(groups)
    full = [pod(f"w-{name}", node=name, requests={"cpu": "15"}) for name in names]
    web = pod("web", requests={"cpu": "1"}, nodeSelector={"kubernetes.io/os": "linux"})
    assert actions(Lists(pods=[web, *full], nodes=[cpu_node(name) for name in names])) == [
        "grow prod-cpu from 6 to 7: for team/web"
    ]


def test_a_daemon_set_that_selects_by_the_kubelets_labels_is_on_a_new_node(groups: dict[str, Standing]) -> None:
    api = Lists(pods=[pod("big", requests={"cpu": "15500m"})])
    exporter = daemon_set("exporter", resources={"requests": {"cpu": "1"}}, nodeSelector={"kubernetes.io/os": "linux"})
    api.lists[DAEMON_SETS] = [exporter]
    (told,) = actions(api)
    assert told.startswith(
        "tell team/big: no pool can hold this: asks 15.5 cores; the largest machine is m7i.4xlarge of pool cpu"
    )


PORT = [{"containerPort": 9100, "hostPort": 9100}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def with_port(name: str, **more: Any) -> Object:
    item = pod(name, **more)
    item["spec"]["containers"][0]["ports"] = PORT
    return item


def apart_from(app: str) -> Object:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


NO_ROOM = "tell team/{}: no pool can hold this: {}"
BESIDE = "it is kept apart from daemon set monitoring/exporter, which has a pod on each node of pool cpu"


@pytest.mark.parametrize("there", [True, False])
def test_a_port_that_a_daemon_set_has_on_each_node_buys_none(groups: dict[str, Standing], there: bool) -> None:
    names = six(groups) if there else []
    # The API makes the port one of the node, since the pods are on its network.
    exporter = daemon_set("exporter", hostNetwork=True, ports=[{"containerPort": 9100}])
    theirs = [with_port(f"e-{name}", node=name, owner="DaemonSet", namespace="monitoring") for name in names]
    api = Lists(pods=[with_port("web"), *theirs], nodes=[cpu_node(name) for name in names])
    api.lists[DAEMON_SETS] = [exporter]
    assert actions(api) == [
        NO_ROOM.format("web", "daemon set monitoring/exporter uses port TCP/9100 of each node of pool cpu")
    ]


def test_a_pod_to_be_apart_from_a_daemon_set_buys_no_node(groups: dict[str, Standing]) -> None:
    names = six(groups)
    labels = {"app": "exporter"}
    theirs = [pod(f"e-{name}", node=name, owner="DaemonSet", namespace="monitoring", labels=labels) for name in names]
    lonely = pod("lonely", namespace="monitoring", affinity=apart_from("exporter"))
    api = Lists(pods=[lonely, *theirs], nodes=[cpu_node(name) for name in names])
    api.lists[DAEMON_SETS] = [daemon_set("exporter")]
    assert actions(api) == [NO_ROOM.format("lonely", BESIDE).replace("team/", "monitoring/")]


def test_a_daemon_set_that_keeps_others_apart_buys_no_node(groups: dict[str, Standing]) -> None:
    api = Lists(pods=[pod("noisy", namespace="monitoring", labels={"app": "noisy"})])
    api.lists[DAEMON_SETS] = [daemon_set("exporter", affinity=apart_from("noisy"))]
    assert actions(api) == [NO_ROOM.format("noisy", BESIDE).replace("team/", "monitoring/")]


def test_a_team_s_daemon_set_takes_room_from_a_new_node(groups: dict[str, Standing]) -> None:
    names = six(groups)
    caches = [
        pod(f"c-{name}", node=name, owner="DaemonSet", namespace="visual", requests={"cpu": "1"}) for name in names
    ]
    api = Lists(pods=[pod("big", requests={"cpu": "15500m"}), *caches], nodes=[cpu_node(name) for name in names])
    api.lists[NAMESPACES] = [{"metadata": {"name": "visual", "labels": {"longhaul.dev/team": "visual"}}}]
    api.lists[DAEMON_SETS] = [daemon_set("cache", namespace="visual", resources={"requests": {"cpu": "1"}})]
    (told,) = actions(api)
    assert told.startswith("tell team/big: no pool can hold this: asks 15.5 cores; the largest machine is")


@pytest.mark.parametrize(("made", "fits"), [("2026-03-01T11:59:59Z", "small"), ("2026-03-01T11:00:00Z", "big")])
def test_a_node_that_is_new_will_have_the_pods_of_daemon_sets(
    groups: dict[str, Standing], made: str, fits: str
) -> None:
    """Their controller may make them later than the node is ready."""
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    api = Lists(
        pods=[pod("big", requests={"cpu": "15500m"}), pod("small", requests={"cpu": "14"})],
        nodes=[cpu_node("i-0", made=made)],
    )
    api.lists[DAEMON_SETS] = [daemon_set("exporter", resources={"limits": {"cpu": "1"}})]
    grows = [line for line in actions(api) if not line.startswith("tell ")]
    assert grows == ([] if fits == "small" else ["grow prod-cpu from 1 to 2: for team/small"])


def test_a_daemon_set_with_limits_alone_takes_as_much(groups: dict[str, Standing]) -> None:
    api = Lists(pods=[pod("big", requests={"cpu": "15500m"})])
    api.lists[DAEMON_SETS] = [daemon_set("exporter", resources={"limits": {"cpu": "1"}})]
    (told,) = actions(api)
    assert told.startswith("tell team/big: no pool can hold this: asks 15.5 cores; the largest machine is")


def test_a_daemon_set_without_room_on_a_new_node_takes_none(groups: dict[str, Standing]) -> None:
    api = Lists(pods=[pod("big", requests={"cpu": "15"})])
    api.lists[DAEMON_SETS] = [daemon_set("giant", resources={"requests": {"cpu": "900"}})]
    assert actions(api) == [GROWS.format("big")]


def spread_over_zones(*zones: str) -> dict[str, Any]:
    expression = {"key": ZONE, "operator": "In", "values": list(zones)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_a_pod_fits_a_pool_whose_every_zone_suits_it(groups: dict[str, Standing]) -> None:
    some = pod("some", requests={"cpu": "1"}, affinity=spread_over_zones("us-east-1a", "us-east-1b", "us-east-1c"))
    assert actions(Lists(pods=[some])) == [GROWS.format("some")]
    zone_a = pod("a", requests={"cpu": "1"}, nodeSelector={ZONE: "us-east-1a"})
    (told,) = actions(Lists(pods=[zone_a]))
    assert f"it is not {ZONE}=us-east-1a in each of its zones (cpu, h100)" in told


def test_the_zone_is_known_before_any_node_is_there() -> None:
    environment = example("prod")
    zone_b = environment.pools["cpu"].model_copy(update={"zones": ("b",)})
    one_zone = environment.model_copy(update={"pools": {**environment.pools, "cpu": zone_b}})
    assert new_node_labels(one_zone, "cpu")[ZONE] == "us-east-1b"
    assert new_node_labels(one_zone, "cpu")["topology.ebs.csi.aws.com/zone"] == "us-east-1b"
    assert new_node_labels(environment, "h100-azure")["topology.disk.csi.azure.com/zone"] == ""
    assert zone_variants(one_zone, "cpu") == ()
    # Azure's machines in one placement group are in no zone.
    assert new_node_labels(environment, "h100-azure")[ZONE] == "westeurope"
    assert ZONE not in new_node_labels(environment, "cpu")


@pytest.mark.parametrize(
    ("machine_type", "arch"),
    [("m7i.4xlarge", "amd64"), ("p5.48xlarge", "amd64"), ("g5.12xlarge", "amd64"), ("g4dn.xlarge", "amd64"),
     ("m7g.large", "arm64"), ("c6gn.16xlarge", "arm64"), ("g5g.xlarge", "arm64"), ("a1.large", "arm64"),
     ("p6-b300.48xlarge", "amd64"), ("p6e-gb200.36xlarge", "arm64")],
)  # fmt: skip
def test_the_architecture_of_aws_machines(machine_type: str, arch: str) -> None:
    assert AwsMachineTypes().architecture(machine_type) == arch


@pytest.mark.parametrize(
    ("machine_type", "arch"),
    [("Standard_D4s_v5", "amd64"), ("Standard_NP10s", "amd64"), ("Standard_ND96isr_H100_v5", "amd64"),
     ("Standard_D4ps_v5", "arm64"), ("Standard_D4pds_v5", "arm64"), ("Standard_E8-4ps_v6", "arm64"),
     ("Standard_ND128isr_NDR_GB200_v6", "arm64"), ("Standard_ND96isr_H200_v5", "amd64")],
)  # fmt: skip
def test_the_architecture_of_azure_machines(machine_type: str, arch: str) -> None:
    assert AzureMachineTypes().architecture(machine_type) == arch


def test_a_node_is_starting_while_its_agents_are(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    taints = [{"key": "example.com/agent-not-ready", "effect": "NoSchedule"}]
    api = Lists(
        pods=[pod("web", requests={"cpu": "1"})], nodes=[cpu_node("i-0", made="2026-03-01T11:58:00Z", taints=taints)]
    )
    assert actions(api) == ["grow prod-cpu from 1 to 2: for team/web"]
    startup = (Taint(key="example.com/agent-not-ready", effect="NoSchedule"),)
    pool = example("prod").pools["cpu"].model_copy(update={"min": 0, "startup_taints": startup})
    assert actions(api, pools={"cpu": pool}) == []


def test_a_busy_node_that_gets_a_taint_of_starting_nodes_has_no_room_for_others(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    busy, waiting = pod("busy", node="i-0", requests={"cpu": "15"}), pod("p", requests={"cpu": "15"})
    taints = [{"key": "longhaul.dev/preflight", "value": "pending", "effect": "NoSchedule"}]
    found = actions(Lists(pods=[busy, waiting], nodes=[cpu_node("i-0", taints=taints)]))
    assert found == ["grow prod-cpu from 1 to 2: for team/p"]


def test_a_new_node_is_none_of_those_that_a_pod_avoids_by_name(groups: dict[str, Standing]) -> None:
    field = {"key": "metadata.name", "operator": "NotIn", "values": ["i-bad"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    found = actions(Lists(pods=[pod("p", requests={"cpu": "1"}, affinity=affinity)]))
    assert found == [GROWS.format("p")]
