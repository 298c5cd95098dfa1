"""A machine that is lost to an attacker, in a whole environment in the lab: what its credentials are worth, before its
quarantine and after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from components.model import load, plan
from components.model.network.api_address import api_url
from components.model.versions.section import pinned
from tests.support.cloud import aws, instances
from tests.support.project import Project, eventually, run
from tests.support.shared_lab import ENV, GROUP, MACHINES, SharedLab, nodes, ready
from tests.support.workload import IMAGE

pytestmark = [pytest.mark.lab, pytest.mark.cluster, pytest.mark.drill]

WORK = "work"
READS = ("/api/v1/services", "/api/v1/nodes", "/apis/discovery.k8s.io/v1/endpointslices", "/version")
"""Paths that each node may read, whatever runs on it."""


@dataclass(frozen=True, kw_only=True)
class Stolen:
    """Credentials that whoever is root on a machine takes along, and uses from elsewhere."""

    project: Project
    machine: str
    certificate: Path
    token: str
    """Token of a pod's account."""

    def status(self, path: str, *, method: str = "GET", as_pod: bool = False, body: str = "") -> tuple[int, str]:
        """Return the API's answer to the machine's certificate, or to the pod's token: code and text."""
        environment = load(self.project.stack_file)
        url = f"{api_url(environment, plan(environment))}{path}"
        who = ["--header", f"Authorization: Bearer {self.token}"] if as_pod else ["--cert", str(self.certificate)]
        asked = ["curl", "-ks", "--max-time", "20", "-X", method, "-w", "\n%{http_code}", *who]
        asked += ["--header", "Content-Type: application/json", "--data", body] if body else []
        text, _, code = run([str(self.project.state / "enter"), *asked, url]).stdout.rpartition("\n")
        return int(code), text


@pytest.fixture(scope="module", name="project")
def _project(shared_lab: SharedLab) -> Iterator[Project]:
    project = shared_lab.take()
    container = {"name": WORK, "image": f"{IMAGE}:{pinned('agnhost')}", "args": ["pause"]}
    template = {
        "metadata": {"labels": {"app": WORK}},
        "spec": {"nodeSelector": {"longhaul.dev/site": "use1"}, "containers": [container]},
    }
    spec = {"selector": {"matchLabels": {"app": WORK}}, "replicas": 1, "template": template}
    metadata = {"name": WORK, "namespace": "default"}
    project.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    project.kubectl("rollout", "status", f"deployment/{WORK}", "--timeout=180s")
    yield project
    project.kubectl("delete", "deployment", WORK, check=False)


def worker(project: Project) -> dict[str, Any]:
    """Return the deployment's only pod."""
    found = json.loads(project.kubectl("get", "pods", f"--selector=app={WORK}", "--output=json").stdout)["items"]
    there = [item for item in found if "deletionTimestamp" not in item["metadata"]]
    return dict(there[0]) if len(there) == 1 else {}


@pytest.fixture(scope="module", name="stolen")
def _stolen(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Stolen:
    pod = worker(project)
    machine = pod["spec"]["nodeName"]
    certificate = tmp_path_factory.mktemp("stolen") / "kubelet.pem"
    certificate.write_text(project.on(machine, "cat /var/lib/kubelet/pki/kubelet-client-current.pem").stdout)
    volumes = f"/var/lib/kubelet/pods/{pod['metadata']['uid']}/volumes/kubernetes.io~projected"
    token = project.on(machine, f"cat {volumes}/*/token").stdout.strip()
    return Stolen(project=project, machine=machine, certificate=certificate, token=token)


def test_before_its_credentials_work_from_elsewhere(stolen: Stolen) -> None:
    assert [stolen.status(path)[0] for path in READS] == [200] * len(READS)
    assert stolen.status(f"/api/v1/nodes/{stolen.machine}")[0] == 200
    assert stolen.status("/api", as_pod=True)[0] == 200


def test_it_is_refused_and_cut_off_and_replaced(project: Project, stolen: Stolen) -> None:
    told = json.loads(project.longhaul("machine", "quarantine", stolen.machine, "--yes", "--json").stdout)
    assert (told["machine"]["name"], told["machine"]["done"]) == (stolen.machine, True)
    assert any(pod.startswith(f"default/{WORK}-") for pod in told["known"]["pods"])
    assert datetime.fromisoformat(told["tokens_void"]) <= datetime.now(UTC)
    for path in READS:
        code, text = stolen.status(path)
        assert (code, "this machine is in quarantine" in text) == (403, True), path
    manifest = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": stolen.machine}})
    assert stolen.status("/api/v1/nodes", method="POST", body=manifest)[0] == 403
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    assert stolen.status(requests, method="POST", body="{}")[0] == 403
    assert stolen.status("/api", as_pod=True)[0] == 401
    assert stolen.machine not in {item["metadata"]["name"] for item in nodes(project)}


def test_its_pods_run_elsewhere_and_the_pool_is_whole(project: Project, stolen: Stolen) -> None:
    project.kubectl("rollout", "status", f"deployment/{WORK}", "--timeout=180s")
    assert worker(project)["spec"]["nodeName"] not in ("", stolen.machine)
    eventually(lambda: len(instances(project, GROUP)) == MACHINES)
    assert stolen.machine not in instances(project, GROUP)
    eventually(lambda: set(instances(project, GROUP)) <= ready(project))


def test_it_is_there_for_a_look_and_reaches_nothing(project: Project, stolen: Stolen) -> None:
    found = aws(project, "ec2", "describe_instances", InstanceIds=[stolen.machine])["Reservations"][0]["Instances"][0]
    assert found["State"]["Name"] == "running"
    assert [group["GroupName"] for group in found["SecurityGroups"]] == [f"{ENV}-use1-network-quarantine"]
    (disk,) = (one["Ebs"]["VolumeId"] for one in found["BlockDeviceMappings"])
    assert aws(project, "ec2", "describe_volumes", VolumeIds=[disk])["Volumes"]
    assert project.on(stolen.machine, "journalctl --unit=kubelet --lines=1").stdout
    environment = load(project.stack_file)
    others = [f"{api_url(environment, plan(environment))}/livez"]
    inside = [item for item in nodes(project) if item["metadata"]["name"] in instances(project, GROUP)]
    addresses = [
        one["address"] for item in inside for one in item["status"]["addresses"] if one["type"] == "InternalIP"
    ]
    for url in [*others, *(f"https://{address}:10250/healthz" for address in addresses)]:
        asked = project.on(stolen.machine, f"curl -ks --max-time 5 --output /dev/null {url}", check=False)
        assert asked.returncode == 28, url


def test_status_shows_it_and_all_is_healthy(project: Project, stolen: Stolen) -> None:
    (shown,) = project.await_healthy()["quarantine"]
    assert (shown["name"], shown["verdict"]) == (stolen.machine, "ok")
    assert stolen.machine in shown["kept"]


def test_its_release_lets_go_of_it_and_not_of_its_certificate(project: Project, stolen: Stolen) -> None:
    project.longhaul("machine", "quarantine", stolen.machine, "--release", "--yes")
    found = aws(project, "ec2", "describe_instances", InstanceIds=[stolen.machine])["Reservations"][0]["Instances"][0]
    assert found["State"]["Name"] == "terminated"
    assert project.status()["quarantine"] == []
    assert [stolen.status(path)[0] for path in READS] == [403] * len(READS)
