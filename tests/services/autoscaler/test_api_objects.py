"""Objects of the API as plain values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.quantities import whole
from contract.object_names import GANGS
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import CordonOrigin, NodeHealth
from services.autoscaler.cluster_state import DAEMON_SETS, NAMESPACES, ListedObjects, cluster_state, list_objects
from services.autoscaler.gang_objects import gang_of_pod, gangs
from services.autoscaler.node_load import DisruptionBudget
from services.autoscaler.node_objects import MachineFacts, NodeParser
from services.autoscaler.pod_defaults import PodDefaults
from services.autoscaler.pod_objects import (
    MOST_APART,
    MOST_RESOURCES,
    TOO_MANY_APART,
    TOO_MANY_RESOURCES,
    ShapeParser,
    requests,
)
from services.autoscaler.pod_shapes import (
    AntiAffinity,
    NodeSelectorTerm,
    SchedulingTaint,
    SelectorOperator,
    SelectorRequirement,
    Toleration,
)
from services.autoscaler.volume_claims import StorageObjects
from tests.services.autoscaler.api_objects import Object, node, pod

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GIB = 2**30


@pytest.mark.parametrize(
    ("name", "text", "amount"),
    [
        ("cpu", "1500m", 1500),
        ("cpu", "2", 2000),
        ("cpu", "0.0001", 1),
        ("cpu", "100u", 1),
        ("memory", "2Gi", 2 * GIB),
        ("memory", "1.5Ki", 1536),
        ("memory", "128974848", 128974848),
        ("memory", "129e6", 129_000_000),
        ("memory", "129M", 129_000_000),
        ("memory", "123.4", 124),
        ("nvidia.com/gpu", "8", 8),
        ("nvidia.com/gpu", 8, 8),
        ("hugepages-2Mi", "80Mi", 80 * 2**20),
    ],
)
def test_a_quantity(name: str, text: str | int, amount: int) -> None:
    assert whole(name, text) == amount


@pytest.mark.parametrize("text", ["", "many", "1 Gi", "1GiB", "1e"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is no quantity of memory"):
        whole("memory", text)


def container(more: Object | None = None, **asked: str) -> Object:
    return {"name": "c", "resources": {"requests": asked}, **(more or {})}


def test_requests_are_the_sum_of_containers_and_sidecars_with_the_overhead() -> None:
    spec = {
        "containers": [container(cpu="1", memory="1Gi"), container(cpu="500m")],
        "initContainers": [container({"restartPolicy": "Always"}, cpu="250m")],
        "overhead": {"cpu": "100m"},
    }
    assert requests(spec) == {"cpu": 1850, "memory": GIB}


def test_a_step_of_the_initialization_may_be_larger_than_the_sum() -> None:
    sidecar = container({"restartPolicy": "Always"}, cpu="1")
    spec = {"containers": [container(cpu="1")], "initContainers": [container(cpu="9"), sidecar, container(cpu="9")]}
    assert requests(spec) == {"cpu": 10_000}


def test_what_a_pod_asks_for_as_a_whole_replaces_the_sum() -> None:
    spec = {"containers": [container(cpu="1", memory="1Gi")], "resources": {"requests": {"cpu": "4"}}}
    assert requests(spec) == {"cpu": 4000, "memory": GIB}


def test_where_a_pod_may_be() -> None:
    expressions = [{"key": "gen", "operator": "Gt", "values": ["4"]}]
    fields = [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
    terms = [{"matchExpressions": expressions}, {"matchFields": fields}, {}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = ShapeParser().parse(
        pod(
            "p",
            nodeSelector={"disk": "ssd"},
            affinity={"nodeAffinity": required},
            tolerations=[
                {"operator": "Exists"},
                {"key": "a", "value": "b", "effect": "NoSchedule"},
                {"key": "c"},
                {"key": "d", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        )
    )
    assert found.where.selector == (SelectorRequirement("disk", SelectorOperator.IN, ("ssd",)),)
    gen, name = (
        SelectorRequirement("gen", SelectorOperator.GT, ("4",)),
        SelectorRequirement("metadata.name", SelectorOperator.IN, ("n",)),
    )
    assert found.where.affinity == ((NodeSelectorTerm((gen,)), NodeSelectorTerm((), (name,)), NodeSelectorTerm()),)
    assert found.where.tolerations == (
        Toleration("", None, ""),
        Toleration("a", "b", "NoSchedule"),
        Toleration("c", "", ""),
        Toleration("d", None, "NoExecute"),
    )
    assert found.unknown == ()


def anti(**term: Any) -> Object:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "dns"}}, **term}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_pods_that_keep_apart_by_host() -> None:
    app = (SelectorRequirement("app", SelectorOperator.IN, ("dns",)),)
    assert ShapeParser().parse(pod("p", affinity=anti())).apart == (AntiAffinity(("team",), app),)
    assert ShapeParser().parse(pod("p", affinity=anti(namespaceSelector={}))).apart == (AntiAffinity(None, app),)
    assert ShapeParser().parse(pod("p", affinity=anti(namespaces=["b", "a"]))).apart == (AntiAffinity(("a", "b"), app),)
    assert ShapeParser().parse(pod("p", affinity=anti(labelSelector=None))).apart == ()


def test_namespaces_by_their_labels() -> None:
    shapes = ShapeParser(namespaces={"web": {"a": "b"}, "db": {"a": "c"}})
    selects = anti(namespaceSelector={"matchLabels": {"a": "b"}})
    assert shapes.parse(pod("p", affinity=selects)).apart[0].namespaces == ("web",)
    selects = anti(namespaceSelector={"matchLabels": {"a": "b"}}, namespaces=["x"])
    assert shapes.parse(pod("p", affinity=selects)).apart[0].namespaces == ("web", "x")


def test_a_template_is_apart_from_pods_of_its_own_labels() -> None:
    term = anti(matchLabelKeys=["hash"], mismatchLabelKeys=["tenant"])
    (apart,) = ShapeParser().parse(pod("p", labels={"hash": "1", "tenant": "a"}, affinity=term)).apart
    assert [str(one) for one in apart.labels] == ["app=dns", "hash=1", "tenant NotIn a"]


HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ({"affinity": anti(topologyKey="zone")}, "keeps apart by zone"),
        ({"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}}, "near other pods"),
        ({"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}, "over zone"),
        ({"resourceClaims": [{"name": "gpu"}]}, "claims devices"),
        ({"tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]}, "tolerates taints by Gt"),
        ({"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}, "volume claim data does not exist"),
    ],
)
def test_what_is_not_understood_is_said(spec: Object, word: str) -> None:
    (unknown,) = ShapeParser().parse(pod("p", **spec)).unknown
    assert word in unknown.message


def many_apart(count: int) -> Object:
    terms = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": str(one)}}} for one in range(count)]
    return {"podAntiAffinity": {REQUIRED: terms}}


def test_more_than_is_reckoned_with_is_said() -> None:
    shapes = ShapeParser()
    assert shapes.parse(pod("p", affinity=many_apart(MOST_APART))).unknown == ()
    crowded = shapes.parse(pod("p", affinity=many_apart(MOST_APART + 1)))
    assert (crowded.apart, crowded.unknown) == ((), (Obstacle(WaitReason.NOT_UNDERSTOOD, TOO_MANY_APART),))
    asked = {f"example.com/{one}": "1" for one in range(MOST_RESOURCES)}
    assert len(shapes.parse(pod("p", requests=asked)).requests) == MOST_RESOURCES + 1
    greedy = shapes.parse(pod("p", requests={"cpu": "1", **asked}))
    assert greedy.requests == (("cpu", 1000), ("pods", 1))
    assert greedy.unknown == (Obstacle(WaitReason.NOT_UNDERSTOOD, TOO_MANY_RESOURCES),)


def test_a_node_takes_nothing_beside_a_pod_that_keeps_apart_from_too_much() -> None:
    assert nodes().parse(node("n"), [pod("p", node="n", affinity=many_apart(MOST_APART))]).free["pods"] > 0
    assert nodes().parse(node("n"), [pod("p", node="n", affinity=many_apart(MOST_APART + 1))]).free == {}


def test_a_wish_is_no_demand() -> None:
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}
    spread = [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    affinity = {"podAffinity": wish, "podAntiAffinity": wish, "nodeAffinity": wish}
    assert ShapeParser().parse(pod("p", affinity=affinity, topologySpreadConstraints=spread)) == ShapeParser().parse(
        pod("p")
    )


def test_equal_shapes_are_one_object() -> None:
    shapes = ShapeParser()
    assert shapes.parse(pod("a", requests={"cpu": "1"})) is shapes.parse(pod("b", requests={"cpu": "1000m"}))


def nodes(
    *, machines: dict[str, MachineFacts] | None = None, budgets: list[DisruptionBudget] | None = None
) -> NodeParser:
    known = {"n": MachineFacts(group="lab-a100", machine="7")} if machines is None else machines
    usual = {"a100": frozenset({("nvidia.com/gpu", "NoSchedule")})}
    return NodeParser(ShapeParser(), budgets=budgets or [], machines=known, taints=usual, now=NOW)


def test_a_node_with_its_pods_summed_up() -> None:
    pods = [
        pod("train", node="n", requests={"cpu": "10", "nvidia.com/gpu": "4"}),
        pod("exporter", node="n", owner="DaemonSet", requests={"cpu": "1"}),
        pod("dns", node="n", owner="ReplicaSet", namespace="kube-system", labels={"k8s-app": "dns"}),
        pod("over", node="n", deletionTimestamp="2026-03-01T11:59:50Z"),
    ]
    found = nodes(budgets=[DisruptionBudget(namespace="kube-system", name="dns", selector=())]).parse(node("n"), pods)
    assert (found.free["cpu"], found.free["nvidia.com/gpu"], found.free["pods"]) == (83_000, 4, 12)
    assert (found.work, found.leaving, found.health) == (1, 1, NodeHealth.READY)
    assert [(one.id, one.block_reason) for one in found.moving] == [
        ("kube-system/dns", "disruption budget dns allows none")
    ]
    assert (found.group, found.machine, found.pool) == ("lab-a100", "7", "a100")
    assert "kubernetes.io/hostname" not in dict(found.kind.labels)


def taint(key: str, effect: str = "NoSchedule") -> Object:
    return {"key": key, "effect": effect}


@pytest.mark.parametrize(
    ("item", "health"),
    [
        (node("n"), NodeHealth.READY),
        (node("n", taints=[taint("nvidia.com/gpu")]), NodeHealth.READY),
        (node("n", taints=[taint("node.kubernetes.io/memory-pressure")]), NodeHealth.READY),
        (node("n", taints=[taint("node.kubernetes.io/unschedulable")], unschedulable=True), NodeHealth.READY),
        (node("n", taints=[taint("longhaul.dev/preflight")]), NodeHealth.STARTING),
        (node("n", ready="False", since="2026-03-01T08:00:00Z"), NodeHealth.STARTING),
        (node("n", ready="Unknown"), NodeHealth.SILENT),
        (node("n", taints=[taint("longhaul.dev/interrupted", "NoExecute")]), NodeHealth.ENDING),
    ],
)
def test_the_health_of_a_node(item: Object, health: NodeHealth) -> None:
    assert nodes().parse(item, []).health is health


def test_taints_that_a_node_keeps_are_of_its_kind() -> None:
    found = nodes().parse(node("n", taints=[taint("nvidia.com/gpu"), taint("longhaul.dev/preflight")]), [])
    assert found.kind.taints == (SchedulingTaint("nvidia.com/gpu", "", "NoSchedule"),)


def test_whose_cordon_it_is() -> None:
    ours = {"longhaul.dev/scale-in-since": "2026-03-01T11:55:00Z"}
    found = nodes().parse(node("n", unschedulable=True, annotations=ours), [])
    assert (found.cordon, found.cordoned_at) == (CordonOrigin.OURS, NOW - timedelta(minutes=5))
    assert nodes().parse(node("n", unschedulable=True), []).cordon is CordonOrigin.OTHERS
    assert nodes().parse(node("n", annotations=ours), []).cordon is CordonOrigin.NONE
    rolled = nodes().parse(node("n", unschedulable=True, annotations={**ours, "longhaul.dev/roll": "x"}), [])
    assert (rolled.cordon, rolled.keep) == (CordonOrigin.OTHERS, "a roll is replacing it")


def test_what_keeps_a_node() -> None:
    assert nodes().parse(node("n", annotations={"longhaul.dev/keep": ""}), []).keep == "longhaul.dev/keep"
    assert nodes().parse(node("n", annotations={"longhaul.dev/keep": "false"}), []).keep == ""
    assert nodes().parse(node("n", taints=[taint("longhaul.dev/quarantine")]), []).keep == "it is in quarantine"
    standby = {"n": MachineFacts(group="g", machine="7", keep="AWS has it as Standby")}
    assert nodes(machines=standby).parse(node("n"), []).keep == "AWS has it as Standby"


def request(**more: Any) -> Object:
    spec = {"provisioningClassName": GANGS, "podSets": [{"podTemplateRef": {"name": "t"}, "count": 4}]}
    spec |= {key: more.pop(key) for key in ("parameters", "provisioningClassName") if key in more}
    made = "2026-03-01T11:00:00Z"
    return {"metadata": {"namespace": "team", "name": "r", "creationTimestamp": made}, "spec": spec, **more}


def provisioned(at: str) -> Object:
    return {"conditions": [{"type": "Provisioned", "status": "True", "lastTransitionTime": at}]}


def read_gangs(item: Object) -> Any:
    template = {"template": {"spec": pod("t", requests={"nvidia.com/gpu": "8"})["spec"]}}
    found = gangs(
        [item],
        [],
        templates={("team", "t"): template},
        running={},
        over={},
        shapes=ShapeParser(),
        defaults=PodDefaults(),
        now=NOW,
    )
    return found[0] if found else None


def test_a_request_for_a_gang() -> None:
    found = read_gangs(request(parameters={"within": "site"}))
    assert (found.name, found.within, found.granted) == ("team/r", "longhaul.dev/site", False)
    assert [(one.count, one.shape.requests) for one in found.sets] == [(4, (("nvidia.com/gpu", 8), ("pods", 1)))]
    assert read_gangs(request(parameters={"within": "near"})).unknown


def test_a_granted_request_holds_its_room_for_ten_minutes() -> None:
    assert read_gangs(request(status=provisioned("2026-03-01T11:55:00Z"))).granted
    assert read_gangs(request(status=provisioned("2026-03-01T11:45:00Z"))) is None


def test_other_classes_requests_are_not_ours() -> None:
    assert read_gangs(request(provisioningClassName="check-capacity.autoscaling.x-k8s.io")) is None


def test_the_gang_of_a_pod() -> None:
    consumes = {"autoscaling.x-k8s.io/consume-provisioning-request": "r"}
    assert gang_of_pod(pod("p", annotations=consumes)) == "team/r"
    assert gang_of_pod(pod("p", labels={"scheduling.x-k8s.io/pod-group": "g"})) == "team/g"
    assert gang_of_pod(pod("p")) == ""


def test_members_that_have_succeeded_are_asked_for_no_more() -> None:
    consumes = {"autoscaling.x-k8s.io/consume-provisioning-request": "r"}
    over = [pod(f"p-{one}", node="n", annotations=consumes, status={"phase": "Succeeded"}) for one in range(3)]
    failed = pod("p-3", node="n", annotations=consumes, status={"phase": "Failed"})
    template = {"metadata": {"namespace": "team", "name": "t"}, "template": {"spec": pod("t")["spec"]}}
    ask = request(status=provisioned("2026-03-01T11:55:00Z"))
    listed = ListedObjects(pods=[*over, failed], nodes=[], requests=[ask], templates=[template])
    (gang,) = cluster_state(listed, machines={}, taints={}, now=NOW).gangs
    assert (gang.granted, gang.on, len(gang.runs)) == (True, (), 3)


def test_which_pods_wait() -> None:
    pods = [
        pod("waits", priority=5, status={"nominatedNodeName": "n"}),
        pod("gated", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]),
        pod("daemon", owner="DaemonSet"),
        pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("ending", deletionTimestamp="2026-03-01T11:59:50Z"),
        pod("done", phase="Succeeded"),
        pod("runs", node="n"),
    ]
    cluster = cluster_state(
        ListedObjects(pods=pods, nodes=[node("n")], memory=DecisionMemory()), machines={}, taints={}, now=NOW
    )
    assert [(one.id, one.priority, one.nominated) for one in cluster.pods] == [("team/waits", 5, "n")]
    assert [one.work for one in cluster.nodes] == [1]


def test_daemon_sets_of_teams_come_last_and_only_if_their_pods_are_made() -> None:
    def daemons(namespace: str, cpu: str, **status: int) -> Object:
        template = {"spec": pod("d", namespace=namespace, requests={"cpu": cpu})["spec"]}
        return {"metadata": {"namespace": namespace, "name": cpu}, "spec": {"template": template}, "status": status}

    sets = [
        daemons("a-team", "900"),
        daemons("a-team", "901", desiredNumberScheduled=2, currentNumberScheduled=2),
        daemons("a-team", "902", desiredNumberScheduled=2),
        daemons("kube-system", "1", desiredNumberScheduled=2),
        daemons("monitoring", "2"),
    ]
    collections: dict[str, list[Object]] = {
        NAMESPACES: [
            {"metadata": {"name": "a-team", "labels": {"longhaul.dev/team": "visual"}}},
            {"metadata": {"name": "monitoring"}},
        ],
        DAEMON_SETS: sets,
    }
    listed = list_objects(lambda path: collections.get(path, []), memory=DecisionMemory(), now=NOW)
    found = cluster_state(listed, machines={}, taints={}, now=NOW).daemons
    assert [one.name for one in found] == ["kube-system/1", "monitoring/2", "a-team/900", "a-team/901"]


def test_a_volume_says_where_its_pods_may_be() -> None:
    claim = {"metadata": {"namespace": "team", "name": "data"}, "spec": {"volumeName": "pv"}}
    zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    required = {"nodeAffinity": {"required": {"nodeSelectorTerms": [zone]}}}
    volume = {"metadata": {"name": "pv"}, "spec": required}
    waits = pod("p", volumes=[{"persistentVolumeClaim": {"claimName": "data"}}])
    listed = ListedObjects(pods=[waits], nodes=[], storage=StorageObjects(claims=[claim], volumes=[volume]))
    (found,) = cluster_state(listed, machines={}, taints={}, now=NOW).pods
    assert found.shape.where.volumes == (
        (NodeSelectorTerm((SelectorRequirement("zone", SelectorOperator.IN, ("a",)),)),),
    )
    assert not found.shape.unknown
