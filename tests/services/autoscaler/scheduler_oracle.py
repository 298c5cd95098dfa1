"""The pinned kube-scheduler as an oracle: the nodes on which it would run each waiting pod.

An extender (k8s.io/kube-scheduler, ``extender/v1``) is given the nodes that passed all filters of the scheduler. It
takes none, so nothing is ever bound, and the cluster stays as it is.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contract.kubernetes.api import Api
from contract.kubernetes.paths import PODS
from tests.support.api_server import ApiServer, eventually


def schedulable_nodes(
    server: ApiServer, api: Api, first: frozenset[str] = frozenset()
) -> dict[str, tuple[frozenset[str], str]]:
    """Return the nodes that the scheduler finds for each pod that waits, by the pod's namespace and name, and what it
    says. It starts with all objects in its caches, so its answers are of one state. Pods named ``first`` have a higher
    priority than all others; it binds them."""
    with _extender(first) as (url, answers):
        extender = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "60s"}
        messages = _schedule(server, api, [extender])
    return {name: (answers.get(name, frozenset()), text) for name, text in messages.items() if name not in first}


def bound_pods(server: ApiServer, api: Api) -> dict[str, str]:
    """Let the scheduler bind pods. Return the pods' nodes by the pods' namespaces and names."""
    _schedule(server, api, [])
    return {name_of(item): item["spec"]["nodeName"] for item in api.items(PODS) if item["spec"].get("nodeName")}


def _schedule(server: ApiServer, api: Api, extenders: list[Any]) -> dict[str, str]:
    """Run the scheduler until it has tried each pod. Return what it says of those that it does not bind."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(server.kubeconfig), "qps": 1000, "burst": 1000},
        "profiles": [{"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
        "extenders": extenders,
    }
    path = server.folder / "scheduler.json"
    path.write_text(json.dumps(configuration), encoding="utf-8")
    with server.scheduler(path):
        eventually(lambda: _untried(api) == 0, what="the scheduler has tried each pod")
        return {name_of(item): text for item in api.items(PODS) if (text := _message(item)) is not None}


def _untried(api: Api) -> int:
    """Return the number of pods that the scheduler has not tried yet."""
    return sum(not item["spec"].get("nodeName") and _message(item) is None for item in api.items(PODS))


def _message(item: Any) -> str | None:
    """Return what the scheduler says of a pod that it does not bind."""
    for condition in item.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return None


def name_of(item: Any) -> str:
    """Return namespace and name of an object."""
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"


@contextmanager
def _extender(first: frozenset[str]) -> Iterator[tuple[str, dict[str, frozenset[str]]]]:
    """Run an extender that takes no node, but for pods named ``first``. Yield its address, and the nodes that it was
    offered for each pod."""
    answers: dict[str, frozenset[str]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            names = asked.get("nodenames") or asked.get("NodeNames") or []
            pod = name_of(asked.get("pod") or asked["Pod"])
            answers[pod] = frozenset(names)
            answer = {"nodenames": names} if pod in first else {"failedNodes": dict.fromkeys(names, "only asked")}
            body = json.dumps({"nodenames": [], "failedNodes": {}, **answer}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            # The scheduler asks again and again, and ends while it does.
            with suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", answers
        finally:
            server.shutdown()
            thread.join()
