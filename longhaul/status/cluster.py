"""Asks the cluster's API for its nodes and add-ons, with the administrator's certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from components.model import plan
from components.model.network.api_address import api_url
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import NODE_LEASES, NODES
from contract.labels import GPU_LABEL
from contract.object_names import NODE_PROOF_REFUSED, NODE_REQUEST_DENIED, SYSTEM_NAMESPACE
from longhaul.cluster.nodes import node
from longhaul.status.observed import AddonView, ClusterView
from longhaul.status.time_limits import API_S

if TYPE_CHECKING:
    from components.model import Environment

EVENTS = "/api/v1/namespaces/default/events"
REFUSALS = (NODE_PROOF_REFUSED, NODE_REQUEST_DENIED)
LATE = timedelta(seconds=12)
"""Age of a node's lease from which the node's kubelet is late: a kubelet renews the lease every ten seconds, a quarter
of the lease's duration (kubernetes 1.36, pkg/kubelet/kubelet.go, ``nodeLeaseRenewIntervalFraction``)."""


def ask_cluster(environment: Environment, identity: Mapping[str, str] | None) -> ClusterView:
    """Return nodes and add-ons, or the reason in ``error`` when the API does not return them."""
    if identity is None:
        return ClusterView(error="the vault did not give the administrator's certificate")
    url = api_url(environment, plan(environment))
    try:
        api = Api(url, identity, timeout_s=API_S)
        nodes = tuple(map(node, api.items(NODES)))
        late = frozenset(_late(api)) if environment.hosts else frozenset()
        return ClusterView(nodes=nodes, late=late, addons=tuple(_addons(api)), refusals=tuple(_refusals(api)))
    except ApiError as error:
        return ClusterView(error=f"{url} answers {error.status}" if error.status else f"{url}: {error.reason}")
    except (OSError, ValueError, KeyError) as error:
        return ClusterView(error=f"{url}: {error}")


def _late(api: Api) -> Iterator[str]:
    """Yield the nodes whose kubelet is late with its lease, comparing this machine's clock with theirs."""
    now = datetime.now(tz=UTC)
    for lease in api.items(NODE_LEASES):
        renewed = lease.get("spec", {}).get("renewTime")
        if not renewed or now - datetime.fromisoformat(renewed) > LATE:
            yield lease["metadata"]["name"]


def _refusals(api: Api) -> Iterator[str]:
    """Yield the refusals of machines that asked to join, the newest first."""
    events = [event for reason in REFUSALS for event in api.items(EVENTS, fieldSelector=f"reason={reason}")]
    for event in sorted(events, key=lambda refusal: str(refusal.get("lastTimestamp") or ""), reverse=True):
        about = event.get("involvedObject", {}).get("name", "")
        yield f"{about}: {event.get('lastTimestamp')}: {event.get('message')}"


def _addons(api: Api) -> Iterator[AddonView]:
    """Yield the deployments and daemon sets that the rest of the cluster depends on."""
    for item in api.items(f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments"):
        ready = item.get("status", {}).get("readyReplicas", 0)
        yield AddonView(name=item["metadata"]["name"], ready=ready, wanted=item["spec"].get("replicas", 1))
    for item in api.items(f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/daemonsets"):
        status = item.get("status", {})
        wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        selector = item.get("spec", {}).get("template", {}).get("spec", {}).get("nodeSelector") or {}
        yield AddonView(name=item["metadata"]["name"], ready=ready, wanted=wanted, on_gpus=GPU_LABEL in selector)
