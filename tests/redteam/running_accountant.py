"""The accountant at the cluster of a test, and what it reports of the team."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from contract.conditions import BEYOND_QUEUE
from contract.kubernetes.connection import Object
from contract.labels import HELD_LABEL
from contract.users import ACCOUNTANT_USER
from services.accountant import unit
from services.accountant.metrics import LOOKS, METRICS
from services.metrics import ServiceMetrics
from tests.redteam.team_cluster import TEAM, TeamCluster
from tests.support.api_server import eventually

NAMESPACE = f"/api/v1/namespaces/{TEAM}"


@contextmanager
def running_accountant(cluster: TeamCluster) -> Iterator[ServiceMetrics]:
    """Run the accountant with its own rights, and remove what it wrote."""
    metrics, stop = ServiceMetrics(METRICS), threading.Event()
    words = {"instance": "test", "stop": stop, "metrics": metrics}
    thread = threading.Thread(target=unit.work, args=(cluster.acting(ACCOUNTANT_USER),), kwargs=words, daemon=True)
    thread.start()
    eventually(lambda: looks(metrics) > 0, what="the accountant looks")
    yield metrics
    stop.set()
    thread.join()
    cluster.admin.patch(NAMESPACE, {"metadata": {"labels": {HELD_LABEL: None}}})
    none = {"status": {"conditions": [{"type": BEYOND_QUEUE, "$patch": "delete"}]}}
    cluster.admin.patch(f"{NAMESPACE}/status", none, strategic=True)
    # Without a node, nobody ends pods that were told to end.
    for item in list(cluster.admin.items(f"{NAMESPACE}/pods")):
        cluster.admin.delete(f"{NAMESPACE}/pods/{item['metadata']['name']}", grace_s=0)


def looks(metrics: ServiceMetrics) -> int:
    """Return how often the accountant has looked at all teams."""
    return int(metrics.text().split(f"\n{LOOKS.name} ")[1].split()[0])


def is_closed(cluster: TeamCluster) -> bool:
    """Return whether the team's namespace takes no new pods."""
    return HELD_LABEL in cluster.admin.get(NAMESPACE)["metadata"]["labels"]


def condition(cluster: TeamCluster) -> Object | None:
    """Return the condition about pods beyond the queue."""
    conditions = cluster.admin.get(NAMESPACE)["status"].get("conditions") or ()
    return next((each for each in conditions if each["type"] == BEYOND_QUEUE), None)
