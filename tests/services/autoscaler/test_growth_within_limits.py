"""The whole service grows a scale set to 500 machines on the lab's Azure with its limits of requests, by the real
clock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from clouds.azure import groups
from clouds.azure.live_groups import AzureGroup
from contract.kubernetes.paths import NODES
from lab.cloud.azure.schema.scale_set_instance import instances
from longhaul.cli.examples import example
from tests.lab.cloud import sets
from tests.lab.cloud.conftest import GROUP, Live, reached
from tests.lab.cloud.operator import Operator
from tests.services.autoscaler.acting_cluster import PODS, World
from tests.services.autoscaler.test_acting_service import service
from tests.support.api_server import eventually

pytestmark = [pytest.mark.engine, pytest.mark.drill]

POOL = "h100-azure"
FIRST, LATER, LATER_S = 450, 50, 80
"""Number of pods at first, and after some seconds: a group is looked at closely for a minute after each growth."""
MAKES, JOINS = 20, 8
"""Number of pods that are made, and of machines that become nodes, in a second. The first is that of
kube-controller-manager by itself (``--kube-api-qps``)."""
MINUTE_S, LIMIT_S = 60, 420


@pytest.fixture(name="azure")
def _azure(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """Azure with its limits. The world has one group there: the limits of a single set are the narrowest."""
    whole = example("prod")
    monkeypatch.setattr(groups, "LARGEST_PLACEMENT_GROUP", groups.LARGEST_SET)
    pool = whole.pools[POOL].model_copy(update={"max": FIRST + LATER, "taints": ()})
    with reached(Live(tmp_path / "cloud", request_limits=True)) as live:
        sets.build_large(live)
        group = AzureGroup("lab-gpu", resource_group=GROUP, session=Operator(live))
        monkeypatch.setattr(world, "live", live)
        monkeypatch.setattr(world, "real", {POOL: group})
        monkeypatch.setattr(world, "environment", whole.model_copy(update={"pools": {POOL: pool}}))
        yield live


def machines(live: Live) -> list[str]:
    """Return the names under which machines register, without a request."""

    async def read() -> list[str]:
        found = instances(live.cloud.store, sets.SET)
        return [item.body["properties"]["osProfile"]["computerName"].lower() for item in found]

    return live.call(read())


def requests(live: Live) -> tuple[Counter[str], int]:
    """Return the numbers of requests so far by kind, and of refusals."""
    buckets = live.cloud.request_buckets
    assert buckets

    async def read() -> tuple[Counter[str], int]:
        counts: Counter[str] = Counter()
        for (name, resource), count in buckets.requests.items():
            lists = {sets.SET.lower(): "lists of machines"}.get(resource, "lists of sets")
            counts[lists if name == "HighCostGetVMScaleSet" else name] += count
        return counts, sum(buckets.refusals.values())

    return live.call(read())


def busiest(history: list[tuple[float, Counter[str]]], kind: str) -> int:
    """Return the largest number of requests of a kind in a minute."""
    return max(
        after[kind] - before[kind] for at, before in history for then, after in history if 0 <= then - at <= MINUTE_S
    )


def test_growth_of_500_machines_meets_no_limit(world: World, azure: Live) -> None:
    history: list[tuple[float, Counter[str]]] = []
    nodes: set[str] = set()
    made, began = 0, time.monotonic()
    before, _ = requests(azure)
    with service(world, "grows") as lines:
        eventually(lambda: lines, what="it leads")
        while len(nodes) < FIRST + LATER and time.monotonic() - began < LIMIT_S:
            now = time.monotonic() - began
            history.append((now, requests(azure)[0] - before))
            count = min(MAKES, (FIRST if now < LATER_S else FIRST + LATER) - made)
            world.pods(count, first=made)
            made += count
            for name in [name for name in machines(azure) if name not in nodes][:JOINS]:
                world.join(name, POOL)
                nodes.add(name)
            world.bind()
            time.sleep(max(0.0, began + now + 1 - time.monotonic()))
        took = time.monotonic() - began
    counts, refused = requests(azure)
    print(f"\n{len(nodes)} nodes after {took:.0f} s; requests: {dict(counts - before)}; refused: {refused}")
    print({kind: busiest(history, kind) for kind in counts}, *world.calls, sep="\n")
    print(*(line for line in lines if "not seen" in line or '"left"' in line), sep="\n")
    assert (len(nodes), refused) == (FIRST + LATER, 0)
    assert world.calls[-1] == f"{POOL} size {FIRST + LATER}"
    assert busiest(history, "lists of machines") <= 10
    assert busiest(history, "lists of sets") <= MINUTE_S / 5 + 1
    assert all(pod["spec"].get("nodeName") for pod in world.admin.items(PODS))
    assert len([*world.admin.items(NODES)]) == len(nodes)
