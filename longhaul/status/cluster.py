"""Asks the cluster's API for its nodes and add-ons, with the administrator's certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from components.model import plan
from components.model.network.api_address import api_url
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.paths import NODE_LEASES, NODES
from contract.kubernetes.times import parse_time
from contract.labels import GPU_LABEL
from contract.object_names import NODE_PROOF_REFUSED, NODE_REQUEST_DENIED, SYSTEM_NAMESPACE
from longhaul.cluster.nodes import node
from longhaul.status.observed import AddonView, ClusterView, LateLease
from longhaul.status.time_limits import API_S
from longhaul.status.waiting_pods import waiting_pods

if TYPE_CHECKING:
    from components.model import Environment

EVENTS = "/api/v1/namespaces/default/events"
REFUSALS = (NODE_PROOF_REFUSED, NODE_REQUEST_DENIED)
LATE = timedelta(seconds=12)
"""Age of a node's lease from which the node's kubelet is late: a kubelet renews the lease every ten seconds, a quarter
of the lease's duration (kubernetes 1.36, pkg/kubelet/kubelet.go, ``nodeLeaseRenewIntervalFraction``)."""
LEASE_S = 40
"""Duration of a node's lease, seconds, where the lease has none (kubelet's ``nodeLeaseDurationSeconds``). The node
controller of Kubernetes waits longer, 50 s, until it calls the node NotReady (``--node-monitor-grace-period``)."""


def ask_cluster(environment: Environment, identity: Mapping[str, str] | None) -> ClusterView:
    """Return nodes and add-ons, or the reason in ``error`` when the API does not return them."""
    if identity is None:
        return ClusterView(error="the vault did not give the administrator's certificate")
    url = api_url(environment, plan(environment))
    try:
        api = Api(url, identity, timeout_s=API_S)
        nodes = tuple(map(node, api.items(NODES)))
        return ClusterView(
            nodes=nodes,
            late=dict(_late(api)),
            addons=tuple(_addons(api)),
            pods=tuple(waiting_pods(api)),
            refusals=tuple(_refusals(api)),
        )
    except ApiError as error:
        return ClusterView(error=f"{url} answers {error.status}" if error.status else f"{url}: {error.reason}")
    except (OSError, ValueError, KeyError) as error:
        return ClusterView(error=f"{url}: {error}")


def _late(api: Api) -> Iterator[tuple[str, LateLease]]:
    """Yield the leases of nodes whose kubelets are late to renew them, by the API servers' clock. A lease that was
    never renewed is as old as its object."""
    leases = list(api.items(NODE_LEASES))
    for lease in leases:
        spec = lease.get("spec") or {}
        renewed = parse_time(str(spec.get("renewTime") or lease["metadata"].get("creationTimestamp") or ""))
        if renewed is not None and (age := api.now() - renewed) > LATE:
            lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or LEASE_S)
            yield lease["metadata"]["name"], LateLease(age=age, expired=age > lasts)


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
