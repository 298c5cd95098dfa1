"""Nodes that run nothing. Their pods become ready, so that what waits for them continues."""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from contract.kubernetes.connection import ApiError, CancelledError
from lab.providers.kubernetes_client import ApiResource, ObjectClient
from lab.providers.kubernetes_config import load_access

STRATEGIC = "application/strategic-merge-patch+json"
PODS = ApiResource(base="/api/v1", plural="pods", namespaced=True)


class Kubelets:
    """Two nodes, from :meth:`start` to :meth:`stop`."""

    def __init__(self, kubeconfig: Path) -> None:
        self._client = ObjectClient(load_access(str(kubeconfig)))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._numbers = count(1)

    def start(self) -> None:
        """Register, and begin to accept pods."""
        for name in ("node-0", "node-1"):
            self._client.send("POST", "/api/v1/nodes", body={"metadata": {"name": name}})
        self._thread.start()

    def stop(self) -> None:
        """Stop."""
        self._client.cancel()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        with suppress(CancelledError):
            while True:
                for pod in self._pods():
                    # The pod may be gone or changed by now.
                    with suppress(ApiError):
                        self._see_to(pod)
                self._client.wait(0.1)

    def _pods(self) -> list[dict[str, Any]]:
        """Return the pods; none while the API server is too busy to answer, as kubelets then ask again."""
        with suppress(ApiError):
            return list(self._client.items("v1", "Pod", namespace=None))
        return []

    def _see_to(self, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        path = PODS.path(meta["namespace"], meta["name"])
        conditions = pod["status"].get("conditions") or []
        if meta.get("deletionTimestamp"):
            self._client.send("DELETE", path, body={"gracePeriodSeconds": 0})
        elif not pod["spec"].get("nodeName"):
            self._bind(path, meta["name"])
        elif not any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
            self._client.send("PATCH", f"{path}/status", body=self._ready(pod), content_type=STRATEGIC)

    def _bind(self, path: str, name: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": f"node-{next(self._numbers) % 2}"}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self._client.send("POST", f"{path}/binding", body=body)

    def _ready(self, pod: dict[str, Any]) -> dict[str, Any]:
        container = pod["spec"]["containers"][0]
        status = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
        return {
            "status": {
                "phase": "Running",
                "podIP": f"127.1.0.{next(self._numbers) % 250 + 1}",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{**status, "ready": True, "started": True, "state": {"running": {}}}],
            }
        }
