"""A node that somebody has taken over tries to draw pods that belong elsewhere: with its kubelet's certificate, on the
machine that has it, and by what its kubelet says when it registers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from components.objects.node_labels import REFUSAL
from components.objects.node_permissions import NOTED, UNCORDONED
from contract.labels import (
    GPU_LABEL,
    IMAGE_LABEL,
    POOL_LABEL,
    REGION_LABEL,
    SITE_LABEL,
    TYPE_LABEL,
    UNCHECKED,
    ZONE_LABEL,
)
from contract.object_names import LOOKED_AT
from tests.redteam.attacks import pod
from tests.support.cloud import instances
from tests.support.project import Project, eventually
from tests.support.shared_lab import GROUP, HOST, SharedLab, ready

pytestmark = [pytest.mark.lab, pytest.mark.cluster]

ELSEWHERE = "a10g"
"""Another pool of the lab, of GPU machines, which has none."""
FORGED = {
    SITE_LABEL: "weu",
    POOL_LABEL: ELSEWHERE,
    ZONE_LABEL: "westeurope-1",
    REGION_LABEL: "westeurope",
    TYPE_LABEL: "g5.xlarge",
    GPU_LABEL: "true",
    "nvidia.com/gpu.product": "NVIDIA-A10G",
    "example.com/team": "a",
}
COMPARED = (ZONE_LABEL, REGION_LABEL, TYPE_LABEL)
"""Labels that are put back: a kubelet whose update of them is refused stops reporting."""
ENVIRONMENT_FILE = "/run/longhaul/node.env"


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A machine that was taken over, and its Node before."""

    project: Project
    name: str
    labels: dict[str, str]

    def asks(self, method: str, path: str, body: dict[str, Any], *, kind: str = "merge-patch+json") -> dict[str, Any]:
        """Return the API server's answer to the machine's own identity."""
        words = [
            *("curl", "--silent", "--cacert", "/etc/longhaul/pki/kubernetes-ca.crt"),
            *("--cert", "/var/lib/kubelet/pki/kubelet-client-current.pem"),
            *("--request", method, "--header", f"Content-Type: application/{kind}", "--data", json.dumps(body)),
        ]
        api = "\"$(python3 -c \"import json; print(json.load(open('/etc/longhaul/node.json'))['api'])\")\""
        return dict(json.loads(self.project.on(self.name, f"{shlex.join(words)} {api}{path}").stdout))

    def node(self) -> dict[str, Any] | None:
        """Return the Node as an administrator sees it."""
        found = self.project.kubectl("get", "node", self.name, "--output=json", "--ignore-not-found").stdout
        return dict(json.loads(found)) if found else None

    def now(self) -> dict[str, str]:
        """Return the Node's labels."""
        found = self.node()
        return dict(found["metadata"]["labels"]) if found else {}

    def heard(self) -> str:
        """Return the time at which the kubelet last said that the node is ready."""
        conditions = (self.node() or {"status": {}})["status"].get("conditions", [])
        said = [one for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
        return str(said[0]["lastHeartbeatTime"]) if said else ""

    def is_itself(self) -> bool:
        """Return whether the Node is open to pods, with the labels that are its own."""
        found = self.node()
        return found is not None and not found["spec"].get("taints") and found["metadata"]["labels"] == self.labels


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Project:
    project = shared_lab.take()
    said = ("get", "configmap", LOOKED_AT, "--namespace=kube-system", "--output=jsonpath={.data.looked-at}")
    eventually(lambda: project.kubectl(*said).stdout == "true")
    return project


@pytest.fixture(name="taken", params=["cloud", "rack"])
def _taken(project: Project, request: pytest.FixtureRequest) -> Iterator[Taken]:
    name = HOST if request.param == "rack" else min(instances(project, GROUP))
    taken = Taken(project=project, name=name, labels=Taken(project=project, name=name, labels={}).now())
    project.on(name, f"cp {ENVIRONMENT_FILE} {ENVIRONMENT_FILE}.own")
    yield taken
    if not taken.is_itself():
        project.kubectl("delete", "node", name, "--ignore-not-found")
    project.on(name, f"mv {ENVIRONMENT_FILE}.own {ENVIRONMENT_FILE} && systemctl restart kubelet")
    eventually(lambda: name in ready(project) and taken.is_itself())


@pytest.fixture(name="lure")
def _lure(project: Project) -> Iterator[str]:
    """A pod that belongs on a machine of the other pool, and so waits."""
    document = pod("default", nodeSelector={POOL_LABEL: ELSEWHERE})
    project.create({**document, "metadata": {"name": "lure", "namespace": "default"}})
    yield "lure"
    project.kubectl("delete", "pod", "lure", "--now", "--ignore-not-found")


def test_it_relabels_nothing_that_decides_where_pods_go(taken: Taken) -> None:
    path = f"/api/v1/nodes/{taken.name}"
    for key, value in FORGED.items():
        for where in (path, f"{path}/status"):
            answer = taken.asks("PATCH", where, {"metadata": {"labels": {key: value}}})
            if key in COMPARED:
                assert answer["metadata"]["labels"] == taken.labels
            else:
                assert (answer["code"], f"{REFUSAL}: {key}" in answer["message"]) == (403, True), answer
    assert taken.now() == taken.labels
    assert taken.name in ready(taken.project)


def test_a_kubelet_with_other_labels_changes_nothing_and_goes_on_reporting(taken: Taken) -> None:
    """As one does whose release or place has changed: it compares at its start, and tries until it succeeds."""
    before = taken.heard()
    forge(taken)
    taken.project.on(taken.name, "systemctl restart kubelet")
    eventually(lambda: taken.heard() not in ("", before))
    assert taken.now() == taken.labels


def test_it_takes_back_no_cordon_and_no_note(taken: Taken) -> None:
    path, note = f"/api/v1/nodes/{taken.name}", "longhaul.dev/roll"
    taken.project.kubectl("cordon", taken.name)
    taken.project.kubectl("annotate", "node", taken.name, f"{note}=another image")
    answer = taken.asks("PATCH", path, {"spec": {"unschedulable": None}})
    assert (answer["code"], UNCORDONED in answer["message"]) == (403, True), answer
    answer = taken.asks("PATCH", path, {"metadata": {"annotations": {note: None}}})
    assert (answer["code"], f"{NOTED}: {note}" in answer["message"]) == (403, True), answer
    taken.project.kubectl("annotate", "node", taken.name, f"{note}-")
    taken.project.kubectl("uncordon", taken.name)
    eventually(taken.is_itself)


def forge(taken: Taken) -> None:
    """Have the kubelet say something else at its next start."""
    own = {key: value for key, value in taken.labels.items() if key == IMAGE_LABEL}
    labels = ",".join(f"{key}={value}" for key, value in {**own, **FORGED}.items())
    taken.project.on(taken.name, f"sed -i 's|^NODE_LABELS=.*|NODE_LABELS={labels}|' {ENVIRONMENT_FILE}")


def test_a_kubelet_that_registers_with_other_labels_is_corrected(taken: Taken, lure: str) -> None:
    forge(taken)
    taken.project.kubectl("delete", "node", taken.name)
    taken.project.on(taken.name, "systemctl restart kubelet")
    eventually(taken.is_itself)
    eventually(lambda: taken.name in ready(taken.project))
    assert bound(taken.project, lure) == ""
    events = ("get", "events", "--field-selector=reason=NodeLabelsCorrected", "--output=jsonpath={.items[*].message}")
    assert f"{POOL_LABEL} was '{ELSEWHERE}'" in taken.project.kubectl(*events).stdout


def test_a_forged_node_draws_no_pod(taken: Taken, lure: str) -> None:
    """It says at once that it is ready, and names no taint. Without a mark it would have the pod within a second."""
    taken.project.on(taken.name, "systemctl stop kubelet")
    taken.project.kubectl("delete", "node", taken.name)
    conditions = [{"type": "Ready", "status": "True", "reason": "Forged", "message": ""}]
    room = {"cpu": "64", "memory": "64Gi", "pods": "16"}
    made = taken.asks(
        "POST",
        "/api/v1/nodes",
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": taken.name, "labels": FORGED},
            "status": {"conditions": conditions, "capacity": room, "allocatable": room},
        },
        kind="json",
    )
    assert made["metadata"]["labels"][UNCHECKED] == "true"
    assert {"key": UNCHECKED, "value": "true", "effect": "NoSchedule"} in made["spec"]["taints"]
    eventually(lambda: UNCHECKED not in (now := taken.now()) and now.get(POOL_LABEL) == taken.labels[POOL_LABEL])
    assert {key: taken.now().get(key) for key in FORGED} == {key: taken.labels.get(key) for key in FORGED}
    assert bound(taken.project, lure) == ""


def bound(project: Project, name: str) -> str:
    """Return the node of a pod, if it has one."""
    return project.kubectl("get", "pod", name, "--output=jsonpath={.spec.nodeName}").stdout
