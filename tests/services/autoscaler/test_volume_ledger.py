"""Pods that compete for volumes, and pods that share them."""

from __future__ import annotations

from typing import Any

import pytest

from contract.annotations import DISPOSABLE
from contract.labels import HOSTNAME_LABEL
from longhaul.cli.examples import example
from tests.services.autoscaler.api_objects import Object, pod
from tests.services.autoscaler.listed_cluster import Lists, Standing, actions, cpu_node, machine
from tests.services.autoscaler.test_requirements import gang
from tests.services.autoscaler.test_scheduler_features import begun
from tests.services.autoscaler.test_volume_claims import (
    CLASSES,
    EBS,
    GROWS,
    ZONE,
    claim,
    class_,
    limited,
    lists,
    using,
    volume,
)

TOO_FEW = "no node is asked for: storage class local has too few free volumes for it"
SINGLE = ["ReadWriteOncePod"]


def wanted(name: str, class_name: str = "local", size: str = "1Gi", **spec: Any) -> Object:
    """Return a claim without a volume."""
    asked = {"resources": {"requests": {"storage": size}}}
    return claim(name, status="Pending", storageClassName=class_name, **asked, **spec)


def disk(name: str, *, size: str = "1Gi", class_name: str = "local", **spec: Any) -> Object:
    """Return a free volume."""
    return volume(name, storageClassName=class_name, capacity={"storage": size}, **spec)


@pytest.mark.parametrize(("count", "sizes", "fits"), [(3, "12", False), (2, "12", True), (2, "11", True)])
def test_each_claim_of_a_pod_takes_a_volume(groups: dict[str, Standing], count: int, sizes: str, fits: bool) -> None:
    names = [str(number) for number in range(count)]
    api = lists(
        [using("p", *names)],
        claims=[wanted(name) for name in names],
        volumes=[disk(f"v{number}", size=f"{size}Gi") for number, size in enumerate(sizes)],
        classes=CLASSES,
    )
    assert actions(api) == ([GROWS] if fits else [f"tell team/p: {TOO_FEW}"])


def test_a_small_claim_takes_the_smallest_volume(groups: dict[str, Standing]) -> None:
    claims = [wanted("large", size="5Gi"), wanted("small", size="1Gi")]
    api = lists([using("p", "large", "small")], claims=claims, classes=CLASSES)
    for sizes, fits in (("52", True), ("25", True), ("51", True), ("33", False)):
        api.lists["/api/v1/persistentvolumes"] = [disk(f"v{i}", size=f"{size}Gi") for i, size in enumerate(sizes)]
        assert (actions(api) == [GROWS]) is fits, sizes


def test_each_pod_takes_a_volume_of_its_own(groups: dict[str, Standing]) -> None:
    pods = [using("p", "c"), using("q", "d")]
    api = lists(pods, claims=[wanted("c"), wanted("d")], volumes=[disk("v")], classes=CLASSES)
    assert actions(api) == [GROWS, f"tell team/q: {TOO_FEW}"]


def test_pods_with_one_claim_take_one_volume(groups: dict[str, Standing]) -> None:
    pods = [using("p", "c"), using("q", "c")]
    assert actions(lists(pods, claims=[wanted("c")], volumes=[disk("v")], classes=CLASSES)) == [f"{GROWS} and 1 more"]


def test_volumes_are_taken_where_they_are(groups: dict[str, Standing]) -> None:
    """The free node reaches one of the volumes; the pool's next node reaches the other."""
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    pool = example("prod").pools["cpu"].model_copy(update={"min": 0, "zones": ("b",)})
    api = lists(
        [using("p", "c"), using("q", "d")],
        [cpu_node("i-0", zone="us-east-1a")],
        claims=[wanted("c"), wanted("d")],
        volumes=[disk("va", zones=("us-east-1a",)), disk("vb", zones=("us-east-1b",))],
        classes=CLASSES,
    )
    assert actions(api, pools={"cpu": pool}) == ["grow prod-cpu from 1 to 2: for team/q"]


def test_a_volume_that_is_bound_to_a_claim_is_its_only_choice(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    bound = disk("vb", zones=("us-east-1b",), claimRef={"namespace": "team", "name": "c"})
    pool = example("prod").pools["cpu"].model_copy(update={"min": 0, "zones": ("b",)})
    api = lists([using("p", "c")], [cpu_node("i-0")], claims=[wanted("c")], volumes=[disk("va")], classes=CLASSES)
    assert actions(api, pools={"cpu": pool}) == []
    api.lists["/api/v1/persistentvolumes"] = [disk("va"), bound]
    assert actions(api, pools={"cpu": pool}) == ["grow prod-cpu from 1 to 2: for team/p"]


def test_a_volume_is_made_where_none_is_free(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    pool = example("prod").pools["cpu"].model_copy(update={"min": 0, "zones": ("b",)})
    topology = {"matchLabelExpressions": [{"key": ZONE, "values": ["us-east-1b"]}]}
    api = lists(
        [using("p", "c"), using("q", "d")],
        [cpu_node("i-0", zone="us-east-1a")],
        claims=[wanted("c", "first"), wanted("d", "first")],
        volumes=[disk("va", class_name="first", zones=("us-east-1a",))],
        classes=[class_("first", allowedTopologies=[topology])],
    )
    assert actions(api, pools={"cpu": pool}) == ["grow prod-cpu from 1 to 2: for team/q"]


def test_a_gang_s_members_take_volumes_together(groups: dict[str, Standing]) -> None:
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "local"}}}}]
    api = lists([], volumes=[disk("va"), disk("vb")], classes=CLASSES)
    api.lists |= gang(3, {"requests": {"nvidia.com/gpu": "8"}}, volumes=volumes)
    assert actions(api) == [f"tell team/r: it waits as a whole: 2 of 3 members have room; {TOO_FEW}"]
    api.lists |= gang(2, {"requests": {"nvidia.com/gpu": "8"}}, volumes=volumes)
    assert "grow prod-h100 from 0 to 2: for gang team/r, 2 members" in actions(api)


@pytest.mark.parametrize("first", [{"nodeSelector": {"no": "where"}}, {"requests": {"cpu": "1k"}}], ids=str)
def test_a_claim_for_one_pod_is_not_kept_by_a_pod_that_finds_no_node(
    groups: dict[str, Standing], first: Object
) -> None:
    volumes = using("x", "c")["spec"]["volumes"]
    single = claim("c", volumeName="v", accessModes=SINGLE)
    pods = [pod("a", volumes=volumes, priority=10, **first), using("p", "c")]
    told, grown = sorted(actions(lists(pods, claims=[single], volumes=[volume("v")])), reverse=True)
    assert grown == GROWS
    assert told.startswith("tell team/a: no ")


def shared(pods: list[Object], nodes: list[Object], limit: int) -> Lists:
    names = ("a", "b")
    api = lists(
        pods,
        nodes,
        claims=[claim(name, volumeName=f"v{name}") for name in names],
        volumes=[volume(f"v{name}", csi={"driver": EBS, "volumeHandle": name}) for name in names],
        classes=CLASSES,
    )
    return limited(api, limit)


def test_a_node_counts_a_volume_of_several_pods_once(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    there = using("there", "a", node="i-0")
    more = ["grow prod-cpu from 1 to 2: for team/next"]
    has = f"the largest machine is m7i.4xlarge of pool cpu, with 1 volumes of {EBS}, 15.89 cores"
    none = [f"tell team/next: no pool can hold this: asks 2 volumes of {EBS}, 0.1 cores; {has}"]
    for pods, limit, expected in (
        ([there, using("next", "a")], 1, []),
        ([there, using("next", "b")], 1, more),
        ([there, using("next", "a", "b")], 1, none),
        ([there, using("next", "a", "b")], 2, []),
        ([using("one", "a"), using("two", "a")], 1, []),
        ([using("one", "a"), using("next", "b"), using("two", "b")], 1, [f"{more[0]} and 1 more"]),
        ([using("next", "b"), using("one", "a"), using("two", "a"), using("more", "a", "b")], 2, []),
    ):
        assert actions(shared(pods, [cpu_node("i-0")], limit)) == expected, pods


def test_a_pod_moves_to_the_node_that_has_its_volume(groups: dict[str, Standing]) -> None:
    disposable = {DISPOSABLE: "true"}
    for other, leaves in (("a", True), ("b", False)):
        pods = [using("mover", "a", node="i-1", annotations=disposable), using("work", other, node="i-0")]
        api = shared(pods, [cpu_node("i-0"), cpu_node("i-1")], 1)
        assert any(line.startswith("cordon i-1") for line in begun(groups, api, ["i-1"])) is leaves


@pytest.mark.parametrize(
    ("local", "shared", "fits"), [("5Gi", "2Gi", True), ("2Gi", "5Gi", True), ("2Gi", "2Gi", False)]
)
def test_the_smallest_of_a_host_s_volumes_and_of_others_is_taken(
    groups: dict[str, Standing], local: str, shared: str, fits: bool
) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    on_host = {"key": HOSTNAME_LABEL, "operator": "In", "values": ["i-0"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_host]}]}}
    volumes = [disk("local", size=local, nodeAffinity=affinity), disk("shared", size=shared, zones=("us-east-1a",))]
    claims = [wanted("small", size="1Gi"), wanted("large", size="5Gi")]
    api = lists([using("p", "small", "large")], [cpu_node("i-0")], claims=claims, volumes=volumes, classes=CLASSES)
    assert (actions(api) == []) is fits


def test_a_free_volume_is_on_the_host_that_a_nodes_label_names(groups: dict[str, Standing]) -> None:
    groups["cpu"] = Standing(machines=(machine("i-0"),))
    renamed = cpu_node("i-0")
    renamed["metadata"]["labels"][HOSTNAME_LABEL] = "h"
    on_host = {"key": HOSTNAME_LABEL, "operator": "In", "values": ["h"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_host]}]}}
    volumes = [disk("v", nodeAffinity=affinity)]
    api = lists([using("p", "c")], [renamed], claims=[wanted("c")], volumes=volumes, classes=CLASSES)
    assert actions(api) == []
