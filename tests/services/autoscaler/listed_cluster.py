"""A cluster's lists and its clouds' groups, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from clouds.aws import live_groups as aws
from clouds.azure import live_groups as azure
from clouds.base.errors import CloudError
from clouds.base.live_groups import GroupState, LiveMachine, WholeObservation
from clouds.base.place import Place
from clouds.base.refusals import Refusal
from components.model.prices.book import PriceBook
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import CLAIMS, NAMESPACES, NODES, PODS, STORAGE_CLASSES
from longhaul.cli.examples import example
from services.autoscaler import cluster_state
from services.autoscaler.decision_text import action_line
from services.autoscaler.evaluation import evaluate_cluster
from tests.services.autoscaler.api_objects import Object, node, pod

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Lists(Api):
    """A cluster's API: lists by path, and 404 for kinds that it does not know."""

    def __init__(self, **lists: Sequence[Object]) -> None:
        self.lists: dict[str, Sequence[Object]] = {
            **dict.fromkeys(
                (
                    cluster_state.BUDGETS,
                    cluster_state.DAEMON_SETS,
                    cluster_state.LEASES,
                    cluster_state.LIMIT_RANGES,
                    cluster_state.PRIORITY_CLASSES,
                    cluster_state.RUNTIME_CLASSES,
                    CLAIMS,
                    cluster_state.VOLUMES,
                    STORAGE_CLASSES,
                    cluster_state.CSI_NODES,
                    cluster_state.CSI_DRIVERS,
                    cluster_state.CAPACITIES,
                    cluster_state.ATTACHMENTS,
                    NAMESPACES,
                    cluster_state.TEMPLATES,
                ),
                (),
            ),
            PODS: lists.pop("pods", ()),
            NODES: lists.pop("nodes", ()),
        }
        self.objects: dict[str, Object] = {}
        self.down: ApiError | None = None

    def items(self, path: str, **query: str) -> Iterator[Object]:
        assert not query, "everything is listed at once"
        if self.down:
            raise self.down
        if path not in self.lists:
            raise ApiError(f"{path} not found", status=404)
        yield from self.lists[path]

    def find(self, path: str) -> Object | None:
        return self.objects.get(path)

    def now(self) -> datetime:
        return NOW


@dataclass
class Standing(WholeObservation):
    """A group that may only be read."""

    machines: tuple[LiveMachine, ...] = ()
    wanted: int = 0
    refuses: str = ""
    made: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()

    def look(self) -> GroupState:
        if self.refuses:
            raise CloudError(self.refuses)
        return GroupState(target="v1", wanted=self.wanted or len(self.machines), machines=self.machines)

    def made_at(self, machines: Sequence[LiveMachine]) -> Mapping[str, str]:
        return {one.id: self.made[one.id] for one in machines if one.id in self.made}

    def refusals(self) -> tuple[Refusal, ...]:
        assert len(self.machines) < self.wanted or self.machines, "a group that has what it wants is not asked"
        return self.refused


def groups_of_pools(monkeypatch: pytest.MonkeyPatch) -> dict[str, Standing]:
    """Give every pool its groups in memory, and return them by pool; those that no test names are empty."""
    groups: dict[str, Standing] = {}

    def of_pool(place: Place[Any], name: str) -> dict[str, Standing]:
        return {place.cloud_name(place.pool_resource(name)): groups.get(name, Standing())}

    for cloud in (aws, azure):
        monkeypatch.setattr(cloud, "live_groups", of_pool)
    return groups


def machine(name: str, **more: Any) -> LiveMachine:
    return LiveMachine(id=f"id-{name}", node=name, current=True, **more)


def actions(api: Api, **changes: Any) -> list[str]:
    """Return the actions for the example ``prod`` with a pool ``cpu`` without minimum, as lines. ``changes``
    are fields of the environment."""
    environment = example("prod")
    cpu = environment.pools["cpu"].model_copy(update={"min": 0})
    h100 = environment.pools["h100"].model_copy(update={"fallbacks": ()})
    environment = environment.model_copy(update={"pools": {"cpu": cpu, "h100": h100}, **changes})
    return [action_line(action) for action in evaluate_cluster(environment, api, PriceBook()).decision.actions]


KUBELET_LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}


def cpu_node(name: str, *, zone: str = "us-east-1a", **more: Any) -> Object:
    """Return a ready m7i.4xlarge of the pool ``cpu``, with the labels that its kubelet gives it."""
    machine_type = "m7i.4xlarge"
    labels = {**KUBELET_LABELS, "topology.kubernetes.io/zone": zone, "node.kubernetes.io/instance-type": machine_type}
    has = {"cpu": "15800m", "memory": "58Gi", "pods": "16", "nvidia.com/gpu": "0"}
    return node(name, pool="cpu", labels=labels, has=has, **more)


def daemon_set(
    name: str,
    *,
    namespace: str = "monitoring",
    resources: Object | None = None,
    ports: Sequence[Object] = (),
    **spec: Any,
) -> Object:
    """Return a daemon set whose pods have the label ``app`` with its name."""
    pod_spec = pod(name, namespace=namespace, **spec)["spec"]
    pod_spec["containers"][0] |= {"resources": resources or {}, "ports": list(ports)}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"template": template}}
