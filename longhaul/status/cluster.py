"""Asking the cluster's API for its nodes and add-ons, with the administrator's certificate."""

from __future__ import annotations

import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from components.model import plan
from components.model.nodes import POOL_LABEL, SITE_LABEL, api_url
from longhaul.status.observed import AddonView, ClusterView, NodeView

if TYPE_CHECKING:
    from components.model import Environment

TIMEOUT_S = 10.0
PAGE = 500
"""Objects in one answer."""
NAMESPACE = "kube-system"

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
        created=str(metadata.get("creationTimestamp", "")),
        version=str(status.get("nodeInfo", {}).get("kubeletVersion", "")),
    )


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
    context = ssl.create_default_context(cadata=identity["issuer"])
    _load(context, identity["certificate"] + "\n" + identity["key"])
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def get(path: str) -> dict[str, Any]:
        with opener.open(url + path, timeout=TIMEOUT_S) as response:
            answer: dict[str, Any] = json.load(response)
            return answer

    return get


def _load(context: ssl.SSLContext, pem: str) -> None:
    """Load a certificate and its key, for which OpenSSL wants a file: one that only this process has, in memory."""
    descriptor = os.memfd_create("administrator", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
