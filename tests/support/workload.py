"""Pods that talk, for tests of the network. They run Kubernetes' own test image, an HTTP server that calls others when
asked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from longhaul.acceptance.pods import IMAGE, PORT, pod_manifest, service_manifest
from tests.support.project import Project, run

__all__ = ["IMAGE", "PORT", "Talker", "ask", "pod", "talkers"]


@dataclass(frozen=True, kw_only=True)
class Talker:
    """A pod that serves and calls HTTP, and a Service with its name."""

    project: Project
    name: str
    address: str
    node: str

    def get(self, path: str, *, check: bool = True, limit_s: int = 10) -> str:
        """Return its answer to the operator, by its own address."""
        return ask(self.project, f"http://{self.address}:{PORT}{path}", check=check, limit_s=limit_s)

    def dial(self, host: str, request: str = "hostname", *, port: int = PORT) -> str:
        """Return the answer of ``host`` (an address or a name) to this pod; empty when there is none."""
        query = urlencode({"host": host, "port": port, "protocol": "http", "request": request, "tries": 1})
        said = json.loads(self.get(f"/dial?{query}", limit_s=30))
        return str(said.get("responses", [""])[0])

    def restarts(self) -> int:
        """Return the number of restarts of its container."""
        status = pod(self.project, self.name)["status"]
        return int(status["containerStatuses"][0]["restartCount"])


def talkers(project: Project, version: str, **sites: str) -> dict[str, Talker]:
    """Make a pod for each name, on a node of its site; return when all are ready."""
    image = f"{IMAGE}:{version}"
    objects = [
        item for name, site in sites.items() for item in (pod_manifest(name, site, image), service_manifest(name))
    ]
    project.create({"apiVersion": "v1", "kind": "List", "items": objects})
    project.kubectl("wait", "--for=condition=Ready", "--timeout=300s", *(f"pod/{name}" for name in sites))
    found = {name: pod(project, name) for name in sites}
    return {
        name: Talker(project=project, name=name, address=it["status"]["podIP"], node=it["spec"]["nodeName"])
        for name, it in found.items()
    }


def pod(project: Project, name: str) -> dict[str, Any]:
    """Return a pod as the API has it."""
    return dict(json.loads(project.kubectl("get", "pod", name, "--output=json").stdout))


def ask(project: Project, url: str, *, check: bool = True, limit_s: int = 10) -> str:
    """Return the answer of a URL to the operator."""
    words = [
        str(project.state / "enter"),
        "curl",
        "--silent",
        "--show-error",
        "--fail",
        "--max-time",
        str(limit_s),
        url,
    ]
    return run(words, check=check).stdout
