"""Asking the cluster's API for its nodes and add-ons, with the administrator's certificate."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from components.model import plan
from components.model.nodes import GPU_LABEL, POOL_LABEL, PREFLIGHT_TAINT, SITE_LABEL, api_url
from longhaul.kubernetes import PAGE, opener
from longhaul.status.observed import AddonView, ClusterView, NodeView

if TYPE_CHECKING:
    from components.model import Environment

TIMEOUT_S = 10.0
NAMESPACE = "kube-system"
GPU_CONDITION = "longhaul.dev/GpuHealthy"
"""What a node with GPUs says of them (docs/gpus.md)."""

Get = Callable[[str], dict[str, Any]]


def ask_cluster(environment: Environment, identity: Mapping[str, str] | None) -> ClusterView:
    """Nodes and add-ons; with the reason in ``error`` when the API does not say."""
    if identity is None:
        return ClusterView(error="the vault did not give the administrator's certificate")
    url = api_url(environment, plan(environment))
    try:
        get = _client(url, identity)
        return ClusterView(nodes=tuple(map(node, _items(get, "/api/v1/nodes"))), addons=tuple(_addons(get)))
    except urllib.error.HTTPError as error:
        return ClusterView(error=f"{url} answers {error.code}")
    except (OSError, ValueError, KeyError) as error:
        return ClusterView(error=f"{url}: {getattr(error, 'reason', None) or error}")


def node(item: Mapping[str, Any]) -> NodeView:
    """One Node object."""
    metadata, status = item["metadata"], item.get("status", {})
    labels = metadata.get("labels", {})
    ready: Mapping[str, Any] = next((one for one in status.get("conditions", ()) if one["type"] == "Ready"), {})
    cordoned = "cordoned" if item.get("spec", {}).get("unschedulable") else ""
    well = ready.get("status") == "True"
    return NodeView(
        name=metadata["name"],
        site=labels.get(SITE_LABEL, ""),
        pool=labels.get(POOL_LABEL, ""),
        ready=well,
        reason=cordoned if well else str(ready.get("message") or "it has never been ready"),
        gpus=_gpus(item) if GPU_LABEL in labels else "",
        created=str(metadata.get("creationTimestamp", "")),
        version=str(status.get("nodeInfo", {}).get("kubeletVersion", "")),
    )


def _gpus(item: Mapping[str, Any]) -> str:
    """Why a node's GPUs are held back; empty when they are not."""
    conditions = item.get("status", {}).get("conditions", ())
    verdict: Mapping[str, Any] = next((one for one in conditions if one["type"] == GPU_CONDITION), {})
    if not verdict:
        return "its GPUs have not been tested yet"
    if verdict.get("status") != "True":
        return f"{verdict.get('reason')}: {verdict.get('message')}"
    held_back = any(taint["key"] == PREFLIGHT_TAINT for taint in item.get("spec", {}).get("taints", ()))
    return f"its GPUs wait for the node controller, which has set or not lifted {PREFLIGHT_TAINT}" if held_back else ""


def _addons(get: Get) -> Iterator[AddonView]:
    """What has to run for everything else to."""
    for item in _items(get, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"):
        ready = item.get("status", {}).get("readyReplicas", 0)
        yield AddonView(name=item["metadata"]["name"], ready=ready, wanted=item["spec"].get("replicas", 1))
    for item in _items(get, f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets"):
        status = item.get("status", {})
        wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberReady", 0)
        yield AddonView(name=item["metadata"]["name"], ready=ready, wanted=wanted)


def _items(get: Get, path: str) -> Iterator[dict[str, Any]]:
    """Every object of a list, page by page."""
    follow = ""
    while True:
        answer = get(f"{path}?limit={PAGE}{follow}")
        yield from answer.get("items", [])
        token = answer.get("metadata", {}).get("continue")
        if not token:
            return
        follow = f"&continue={token}"


def _client(url: str, identity: Mapping[str, str]) -> Get:
    pages = opener(identity)

    def get(path: str) -> dict[str, Any]:
        with pages.open(url + path, timeout=TIMEOUT_S) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    return get
