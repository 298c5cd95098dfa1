"""Features of pods and volumes that the scheduler knows, one by one; random clusters have them together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from contract.annotations import DISPOSABLE
from contract.documents.autoscaler_memory import DecisionMemory, to_document
from services.autoscaler import decision_memory
from services.autoscaler.cluster_state import ATTACHMENTS, CAPACITIES, CSI_DRIVERS, DAEMON_SETS
from services.autoscaler.watched_lists import slim_node, slim_pod
from services.pod_requests import bound_requests
from tests.services.autoscaler.api_objects import Object, pod
from tests.services.autoscaler.listed_cluster import (
    NOW,
    Lists,
    Standing,
    actions,
    cpu_node,
    daemon_set,
    machine,
)
from tests.services.autoscaler.test_volume_claims import EBS, ZONE, claim, class_, lists, using, volume

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_a_pod_of_another_scheduler_is_told_and_takes_what_it_has(groups: dict[str, Standing]) -> None:
    other = pod("theirs", requests={"cpu": "1"}, schedulerName="volcano")
    (told,) = actions(Lists(pods=[other]))
    assert told.endswith("it waits for another scheduler, volcano")
    ours = pod("ours", requests={"cpu": "1"}, schedulerName="default-scheduler")
    assert actions(Lists(pods=[ours])) == ["grow prod-cpu from 0 to 1: for team/ours"]
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    full = pod("full", node="i-0", requests={"cpu": "15"}, schedulerName="volcano")
    assert actions(Lists(pods=[ours, full], nodes=[cpu_node("i-0")])) == ["grow prod-cpu from 1 to 2: for team/ours"]


@pytest.mark.parametrize("kind", ["awsElasticBlockStore", "gcePersistentDisk", "iscsi", "rbd"])
def test_a_volume_that_pods_of_one_node_cannot_share_is_told(groups: dict[str, Standing], kind: str) -> None:
    (told,) = actions(Lists(pods=[pod("p", volumes=[{"name": "data", kind: {}}])]))
    assert told.endswith(f"it has a volume of kind {kind} without a claim, which is not supported")


def moves(name: str, node: str, **more: Any) -> Object:
    return pod(name, node=node, annotations={DISPOSABLE: "true"}, labels={"app": "web"}, **more)


def begun(groups: dict[str, Standing], api: Lists, idle: Iterable[str]) -> list[str]:
    """Return what is done with nodes that have been idle for an hour."""
    names = [item["metadata"]["name"] for item in api.lists["/api/v1/nodes"]]
    groups["cpu"] = Standing(machines=tuple(map(machine, names)))
    memory = DecisionMemory(idle=dict.fromkeys(idle, NOW - timedelta(hours=1)))
    api.objects[decision_memory.MEMORY] = {"data": {"memory": json.dumps(to_document(memory))}}
    return actions(api)


def web(**more: Any) -> Object:
    return {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST, **more}


def web_outside(namespace: str) -> Object:
    """Return a rule against pods of all namespaces but one."""
    names = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]}
    return {"podAntiAffinity": {REQUIRED: [web(namespaceSelector={"matchExpressions": [names]})]}}


SPREAD = {"topologySpreadConstraints": [web(maxSkew=1, whenUnsatisfiable="DoNotSchedule")]}
APART = {"affinity": {"podAntiAffinity": {REQUIRED: [web()]}}}


@pytest.mark.parametrize(
    ("rule", "there", "leaves"),
    [(APART, {"labels": {"app": "web"}}, False), (APART, {"labels": {"app": "db"}}, True), ({}, APART, False),
     ({"affinity": web_outside("team")}, {"labels": {"app": "web"}}, False),
     (SPREAD, {"labels": {"app": "web"}}, False), (SPREAD, {"labels": {"app": "db"}}, True)],
)  # fmt: skip
def test_a_pod_that_moves_has_its_rules_about_other_pods_and_theirs(
    groups: dict[str, Standing], rule: Object, there: Object, leaves: bool
) -> None:
    pods = [moves("mover", "i-0", **rule), pod("there", node="i-1", requests={"cpu": "1"}, **there)]
    api = Lists(pods=pods, nodes=[cpu_node("i-0"), cpu_node("i-1")])
    assert any(line.startswith("cordon i-0") for line in begun(groups, api, ["i-0"])) is leaves


def test_a_claim_of_a_pod_that_moves_is_known_though_nobody_waits(groups: dict[str, Standing]) -> None:
    mover = using("mover", "c", node="i-0", annotations={DISPOSABLE: "true"})
    api = lists(
        [mover, pod("work", node="i-1")],
        [cpu_node("i-0"), cpu_node("i-1")],
        claims=[claim("c", volumeName="v")],
        volumes=[volume("v", csi={"driver": EBS})],
    )
    assert any(line.startswith("cordon i-0") for line in begun(groups, api, ["i-0"]))


def resized(spec: str, given: str, promised: str, *conditions: Object, kind: str = "containers") -> Object:
    item = pod("p", node="i-0")
    container = {"name": "main", "resources": {"requests": {"cpu": spec}}, "restartPolicy": "Always"}
    item["spec"] |= {"containers": [], kind: [container]}
    report = {"name": "main", "resources": {"requests": {"cpu": given}}, "allocatedResources": {"cpu": promised}}
    item["status"] |= {f"{kind.removesuffix('s')}Statuses": [report], "conditions": list(conditions)}
    return item


INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("amounts", "conditions", "cores"),
    [(("1", "1", "1"), (), 1000), (("3", "1", "1"), (), 3000), (("1", "3", "1"), (), 3000),
     (("1", "1500m", "2"), (), 2000), (("3", "1", "2"), (INFEASIBLE,), 2000)],
)  # fmt: skip
def test_a_pod_that_is_resized_counts_with_the_larger_amounts(
    amounts: tuple[str, str, str], conditions: tuple[Object, ...], cores: int, kind: str
) -> None:
    item = resized(*amounts, *conditions, kind=kind)
    watched = slim_pod(item)
    assert watched
    assert bound_requests(item)["cpu"] == bound_requests(watched)["cpu"] == cores
    assert ("conditions" in watched["status"]) is (len({*amounts}) > 1)


def test_a_pod_as_a_whole_that_is_resized_counts_with_the_larger_amounts() -> None:
    item = pod("p", node="i-0", requests={"cpu": "1"}, resources={"requests": {"cpu": "2"}})
    item["status"] |= {"containerStatuses": [], "resources": {"requests": {"cpu": "4"}}}
    watched = slim_pod(item)
    assert watched
    assert bound_requests(item)["cpu"] == bound_requests(watched)["cpu"] == 4000


def test_a_claim_for_one_pod_at_a_time_buys_for_one(groups: dict[str, Standing]) -> None:
    single = claim("c", volumeName="v", accessModes=["ReadWriteOncePod"])
    pods = [using("first", "c"), using("second", "c")]
    told, grown = sorted(actions(lists(pods, claims=[single], volumes=[volume("v")])), reverse=True)
    assert grown == "grow prod-cpu from 0 to 1: for team/first"
    assert told.endswith("its volume claim c is for one pod at a time, and another pod is to have it")
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    pods = [using("waits", "c"), using("runs", "c", node="i-0")]
    (told,) = actions(lists(pods, [cpu_node("i-0")], claims=[single], volumes=[volume("v")]))
    assert told.endswith("and runs has it")


def test_a_volume_that_is_only_attached_counts_for_its_node(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    names = ("a", "b")
    api = lists(
        [using("p", "a")],
        [cpu_node("i-0")],
        claims=[claim(name, volumeName=f"v{name}") for name in names],
        volumes=[volume(f"v{name}", csi={"driver": EBS, "volumeHandle": name}) for name in names],
        csi_nodes=[{"metadata": {"name": "i-0"}, "spec": {"drivers": [{"name": EBS, "allocatable": {"count": 1}}]}}],
    )
    assert actions(api) == []
    source = {"persistentVolumeName": "vb"}
    attachment = {"attacher": EBS, "nodeName": "i-0", "source": source}
    api.lists[ATTACHMENTS] = [{"metadata": {"name": "x"}, "spec": attachment}]
    assert actions(api) == ["grow prod-cpu from 1 to 2: for team/p"]


def test_a_driver_that_tells_its_capacity_has_room_where_it_tells(groups: dict[str, Standing]) -> None:
    waits = claim("c", status="Pending", storageClassName="first", resources={"requests": {"storage": "20Gi"}})
    api = lists([using("p", "c")], claims=[waits], classes=[class_("first")])
    grows = ["grow prod-cpu from 0 to 1: for team/p"]

    def decided(size: str, selector: Object | None, **more: str) -> list[str]:
        capacity = {"metadata": {"name": "x"}, "storageClassName": "first", "capacity": size, **more}
        api.lists[CAPACITIES] = [capacity | ({} if selector is None else {"nodeTopology": selector})]
        return actions(api)

    here, elsewhere = ({"matchLabels": {"topology.kubernetes.io/region": name}} for name in ("us-east-1", "x"))
    assert decided("1Gi", here) == grows, "the driver tells nothing"
    api.lists[CSI_DRIVERS] = [{"metadata": {"name": EBS}, "spec": {"storageCapacity": True}}]
    assert decided("20Gi", here) == decided("20Gi", {}) == grows
    for few in (
        decided("19Gi", here),
        decided("20Gi", elsewhere),
        decided("20Gi", None),
        decided("30Gi", here, maximumVolumeSize="10Gi"),
    ):
        assert few[0].startswith("tell team/p: no pool can hold this: its labels are not ")


@pytest.mark.parametrize(
    ("offered", "suits"),
    [({}, True), ({"capacity": {"storage": "1Gi"}}, False), ({"accessModes": ["ReadOnlyMany"]}, False),
     ({"volumeMode": "Block"}, False), ({"labels": {"speed": "slow"}}, False),
     ({"claimRef": {"namespace": "team", "name": "other"}}, False)],
)  # fmt: skip
def test_a_volume_that_nobody_makes_suits_its_claim(groups: dict[str, Standing], offered: Object, suits: bool) -> None:
    asks = {"resources": {"requests": {"storage": "2Gi"}}, "accessModes": ["ReadWriteOnce"]}
    selector = {"selector": {"matchLabels": {"speed": "fast"}}}
    waits = claim("c", status="Pending", storageClassName="local", **asks, **selector)
    labels = offered.pop("labels", {"speed": "fast"})
    spec = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    free = volume("v", labels=labels, **{**spec, **offered})
    local = class_("local", provisioner="kubernetes.io/no-provisioner")
    decided = actions(lists([using("p", "c")], claims=[waits], volumes=[free], classes=[local]))
    assert (decided == ["grow prod-cpu from 0 to 1: for team/p"]) is suits


def test_a_volume_of_a_zone_is_allowed_on_a_node_without_any(groups: dict[str, Standing]) -> None:
    host = cpu_node("host-0")
    host["metadata"]["labels"] = {HOST: "host-0"}
    labelled = volume("v", labels={ZONE: "us-east-1a"})
    api = lists([using("p", "c")], [host], claims=[claim("c", volumeName="v")], volumes=[labelled])
    assert actions(api) == []


def test_a_selected_node_is_the_only_one_for_a_volume_that_is_being_made(groups: dict[str, Standing]) -> None:
    chosen = {"annotations": {"volume.kubernetes.io/selected-node": "i-1"}}
    waits = claim("c", status="Pending", storageClassName="first", metadata=chosen)
    groups["cpu"] = Standing(machines=(machine("i-0"), machine("i-1")))
    api = lists([using("p", "c")], [cpu_node("i-0"), cpu_node("i-1")], claims=[waits], classes=[class_("first")])
    assert actions(api) == []
    api.lists["/api/v1/nodes"] = [cpu_node("i-0")]
    assert "it may run only on nodes with certain names" in actions(api)[0]


def test_a_pod_whose_end_restarts_all_runs_where_the_kubelet_declares_it(groups: dict[str, Standing]) -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]
    waits = pod("p", requests={"cpu": "1"})
    waits["spec"]["containers"][0]["restartPolicyRules"] = rules
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    node = cpu_node("i-0")
    assert actions(Lists(pods=[waits], nodes=[node])) == ["grow prod-cpu from 1 to 2: for team/p"]
    node["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    assert actions(Lists(pods=[waits], nodes=[node])) == []
    assert slim_node(node)["status"]["declaredFeatures"] == node["status"]["declaredFeatures"]


def test_a_node_has_the_host_name_of_its_label(groups: dict[str, Standing]) -> None:
    node = cpu_node("i-0")
    node["metadata"]["labels"][HOST] = "i-0.example.com"
    for name, fits in (("i-0.example.com", True), ("i-0", False)):
        waits = pod("p", requests={"cpu": "1"}, nodeSelector={HOST: name})
        assert (actions(Lists(pods=[waits], nodes=[node])) == []) is fits


def test_namespaces_are_chosen_by_labels_as_the_scheduler_reads_them(groups: dict[str, Standing]) -> None:
    """Its fault: namespaces that a waiting pod's own term excludes are among those that it keeps apart from."""
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    waits = pod("p", requests={"cpu": "1"}, affinity=web_outside("team"))
    there = pod("there", node="i-0", labels={"app": "web"})
    assert actions(Lists(pods=[waits, there], nodes=[cpu_node("i-0")])) == ["grow prod-cpu from 1 to 2: for team/p"]


def on_each(*daemon_sets: Object, **rule: Any) -> list[str]:
    """Return what is done for a pod with the label ``web``, when a new node has daemon sets' pods."""
    waits = pod("p", namespace="monitoring", labels={"app": "web"}, requests={"cpu": "1"}, **rule)
    api = Lists(pods=[waits])
    api.lists[DAEMON_SETS] = list(daemon_sets)
    return actions(api)


def test_a_daemon_set_s_pods_count_where_pods_are_spread(groups: dict[str, Standing]) -> None:
    spread = web(maxSkew=1, whenUnsatisfiable="DoNotSchedule", minDomains=5)
    grows = ["grow prod-cpu from 0 to 1: for monitoring/p"]
    assert on_each(daemon_set("db"), topologySpreadConstraints=[spread]) == grows
    (told,) = on_each(daemon_set("web"), topologySpreadConstraints=[spread])
    assert told.startswith("tell monitoring/p: ")


def test_daemon_sets_pods_that_exclude_each_other_are_not_both_on_a_node(groups: dict[str, Standing]) -> None:
    grows = ["grow prod-cpu from 0 to 1: for monitoring/p"]
    first = daemon_set("agent", ports=[{"containerPort": 80, "hostPort": 80}])
    picky = {"podAntiAffinity": {REQUIRED: [web()]}}
    assert on_each(first, daemon_set("late", affinity=picky))[0].startswith("tell")
    taken = daemon_set("late", affinity=picky, ports=[{"containerPort": 80, "hostPort": 80}])
    assert on_each(first, taken) == grows
    # Whether a node has the resource is unknown, so both may be there.
    port = {"containerPort": 80, "hostPort": 80}
    rare = daemon_set("agent", resources={"limits": {"example.com/x": "1"}}, ports=[port])
    assert on_each(rare, taken)[0].startswith("tell")
    zone = {"podAntiAffinity": {REQUIRED: [web(topologyKey=ZONE)]}}
    assert on_each(daemon_set("zonal", affinity=zone))[0].startswith("tell")
    zone["podAntiAffinity"][REQUIRED] += [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "agent"}}}]
    assert on_each(daemon_set("agent"), daemon_set("zonal", affinity=zone)) == grows


def test_a_daemon_set_s_pod_is_there_before_the_pod_that_waits(groups: dict[str, Standing]) -> None:
    """So the scheduler's fault about its own terms' namespaces does not matter."""
    grows = ["grow prod-cpu from 0 to 1: for monitoring/p"]
    assert on_each(daemon_set("picky", affinity=web_outside("monitoring"))) == grows
