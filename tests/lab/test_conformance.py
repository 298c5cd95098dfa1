"""Kubernetes' conformance specs that need no image but the lab's, in a cluster with every policy of ours in force."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from components.model.versions.section import pinned
from lab import tools
from longhaul.acceptance.pods import IMAGE
from tests.components.objects.test_conformance import PAGE
from tests.support.documented import manifests
from tests.support.project import REPOSITORY, Project, eventually, hybrid
from tests.support.shared_lab import ready

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "conformant"
NODES = 2
NAME = "conformance-host-network"
"""Name of the objects that docs/security.md shows."""
AT_LEAST = 100
"""Number of specs that are left. Fewer mean that specs were left out which should not be."""
AT_ONCE = 10
"""Number of specs that run side by side: they wait more than they work."""
GROUPS = ("sig-network", "sig-node", "sig-storage", "sig-auth", "sig-api-machinery")
"""Groups of specs of which many need agnhost alone."""
LEFT_OUT = ("Serial", "Disruptive", "Slow")
OWN = (f"{IMAGE}:{pinned('agnhost')}", f"registry.k8s.io/pause:{pinned('pause')}")
"""Images that the lab has."""
FOREIGN = "this image is not in the lab"
IMAGES = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "images-of-the-lab"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]},
                {
                    "apiGroups": ["apps"],
                    "apiVersions": ["v1"],
                    "resources": ["deployments", "replicasets", "daemonsets", "statefulsets"],
                    "operations": ["CREATE"],
                },
            ]
        },
        "variables": [
            {"name": "pod", "expression": "has(object.spec.template) ? object.spec.template.spec : object.spec"},
            {"name": "all", "expression": "variables.pod.containers + variables.pod.?initContainers.orValue([])"},
        ],
        "validations": [
            {
                "expression": f"variables.all.all(c, c.image in {list(OWN)})",
                "message": FOREIGN,
            }
        ],
    },
}
"""A spec that wants another image fails at once, and says so, instead of waiting for an image that never comes."""
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "images-of-the-lab"},
    "spec": {
        "policyName": "images-of-the-lab",
        "validationActions": ["Deny"],
        # Some specs make namespaces of their own, without the label of the others.
        "matchResources": {
            "namespaceSelector": {
                "matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
                ]
            }
        },
    },
}


@pytest.fixture(scope="module", name="project")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    raw = hybrid(ENV, supernet="10.208.0.0/12", etcd=1, events=1, api=1)
    raw["sites"] = {"weu": raw["sites"]["weu"]}
    raw["pools"] = {"cpu": {"site": "weu", "machine_type": "Standard_D8s_v5", "min": NODES, "max": NODES}}
    del raw["bare_metal"]
    project = Project.make(tmp_path_factory.mktemp(ENV), raw)
    try:
        project.up()
        eventually(lambda: len(ready(project)) == NODES)
        project.await_healthy()
        yield project
    finally:
        project.lab("down", "--all", check=False)


def told(report: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each spec that was run, and what a failed one said."""
    for case in ET.parse(report).getroot().iter("testcase"):
        if case.get("status") != "skipped" and "[Conformance]" in str(case.get("name")):
            yield str(case.get("name")), "".join(case.itertext()) if case.get("status") != "passed" else ""


def run_specs(project: Project, programs: Mapping[str, Path], report: Path) -> None:
    words = [
        *(programs["ginkgo"], f"--procs={AT_ONCE}", "--timeout=90m", "--no-color", f"--output-dir={report.parent}"),
        f"--junit-report={report.name}",
        r"--focus=\[({})\].*\[Conformance\]".format("|".join(GROUPS)),
        r"--skip=\[({})\]".format("|".join(LEFT_OUT)),
        *(programs["e2e.test"], "--", "--provider=skeleton", f"--kubeconfig={project.state / 'kubeconfig'}"),
        *("--disable-log-dump", "--allowed-not-ready-nodes=-1"),
    ]
    with report.with_suffix(".log").open("w") as log:
        subprocess.run([str(word) for word in words], check=False, stdout=log, stderr=subprocess.STDOUT)


def test_specs_that_need_no_other_image_pass(project: Project, tmp_path: Path) -> None:
    programs = tools.ensure(["kubernetes-tests", "ginkgo"], log_dir=tmp_path, progress=print)
    text = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    documented = [one.document for one in manifests(PAGE, text) if one.document["metadata"]["name"] == NAME]
    assert len(documented) == 2
    for document in (*documented, IMAGES, BINDING):
        project.create(document)
    report = tmp_path / "report.xml"
    run_specs(project, programs, report)
    found = dict(told(report))
    foreign = {name for name, said in found.items() if FOREIGN in said}
    failed = {name: said for name, said in found.items() if said and name not in foreign}
    passed = sorted(name for name, said in found.items() if not said)
    print(*(f"passed: {name}" for name in passed), sep="\n")
    print(f"{len(passed)} passed, {len(foreign)} need another image, {len(failed)} failed")
    assert failed == {}
    assert len(passed) >= AT_LEAST
