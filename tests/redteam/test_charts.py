"""Helm charts that people of a team install work in their namespace, and a refusal says why (docs/teams.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from components.model.secrets.certificates import ADMINISTRATORS_GROUP
from components.objects.team_roles import BOUND, LASTING
from tests.redteam.chart_releases import charts, lacks, leftovers, release
from tests.redteam.team_cluster import TEAM, TeamCluster
from tests.support.api_server import eventually
from tests.support.teams import Person, pod

pytestmark = pytest.mark.engine

GROUP = "rbac.authorization.k8s.io"
RBAC = f"{GROUP}/v1"
NOT_HELD = "attempting to grant RBAC permissions not currently held"
"""Message of Kubernetes to somebody who grants more than they may do."""
REFUSALS = ("forbidden", "error", "invalid", "denied", "no matches")
ARGO_RIGHTS = {
    "apiVersion": RBAC,
    "kind": "ClusterRole",
    "metadata": {"name": "argo", "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
    "rules": [
        {"apiGroups": ["argoproj.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["persistentvolumeclaims/finalizers"], "verbs": ["*"]},
    ],
}
"""Rights that an administrator adds to ``edit`` with the definitions of Argo's kinds."""


@dataclass
class Course:
    """Course of a release: what was said to it step by step, what its workloads lacked, and what it left."""

    installed: str = ""
    lacked: str = ""
    upgraded: str = ""
    lacked_then: str = ""
    uninstalled: str = ""
    left: str = ""


@pytest.fixture(scope="module", name="courses")
def _courses(running_cluster: TeamCluster) -> Iterator[dict[str, Course]]:
    """Install all charts, beside each other, then upgrade them, then uninstall them."""
    ada = running_cluster.person()
    releases = [release(chart) for chart in charts()]
    courses = {made.chart: Course() for made in releases}
    running_cluster.server.kubectl("create", "--filename=-", stdin=json.dumps(ARGO_RIGHTS))
    for made in releases:
        courses[made.chart].installed += made.run_hooks(ada, running_cluster, "pre-install") + made.create(ada)
    for chart, missing in lacks(running_cluster, releases).items():
        courses[chart].lacked = missing
    for made in releases:
        courses[made.chart].installed += made.run_hooks(ada, running_cluster, "post-install")
    newer = [made.newer() for made in releases]
    for made in newer:
        courses[made.chart].upgraded = made.upgrade(ada)
    for chart, missing in lacks(running_cluster, newer).items():
        courses[chart].lacked_then = missing
    for made in newer:
        courses[made.chart].uninstalled = made.uninstall(ada)
    for chart, left in leftovers(running_cluster, newer).items():
        courses[chart].left = left
    yield courses
    running_cluster.clear()


@pytest.mark.parametrize("chart", charts())
def test_a_chart_is_installed_upgraded_and_uninstalled(courses: dict[str, Course], chart: str) -> None:
    course = courses[chart]
    for step in (course.installed, course.upgraded, course.uninstalled):
        assert not any(word in step.lower() for word in REFUSALS), step
    assert (course.lacked, course.lacked_then, course.left) == ("", "", "")


def test_a_program_that_a_person_installed_makes_pods(cluster: TeamCluster) -> None:
    """Such as a hub of notebooks, with the pod that its spawner makes (kubespawner, objects.py, ``make_pod``)."""
    ada = cluster.person()
    for made in release("jupyterhub").objects:
        if made["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            ada.made(made, dry=False)
    token = ada.kubectl("create", "token", "hub", f"--namespace={TEAM}").strip()
    hub = Person(server=cluster.server, team=TEAM, kubeconfig=cluster.server.bearer(token))
    notebook = pod("jupyter-ada", restartPolicy="OnFailure", automountServiceAccountToken=False)
    notebook["spec"]["containers"][0] |= {
        "name": "notebook",
        "resources": {"limits": {}, "requests": {"memory": "1Gi"}},
    }
    hub.made(notebook, dry=False)
    eventually(lambda: len(cluster.free_pods()) == 1, what="the notebook starts")
    large = pod("jupyter-eve", gpus=100)
    assert hub.made(large)["spec"]["schedulingGates"]
    assert "forbidden" in hub.kubectl("get", "pods", "--namespace=speech")
    assert "deleted" in hub.kubectl("delete", "pod", "jupyter-ada", f"--namespace={TEAM}", "--wait=false")
    release("jupyterhub").uninstall(ada)


@pytest.mark.parametrize(
    ("subject", "referred"),
    [
        ({"kind": "User", "name": "eve"}, {"kind": "ClusterRole", "name": "edit"}),
        ({"kind": "Group", "name": "corp:speech"}, {"kind": "ClusterRole", "name": "view"}),
        ({"kind": "Group", "name": "system:serviceaccounts:speech"}, {"kind": "Role", "name": "small"}),
        ({"kind": "ServiceAccount", "name": "default", "namespace": "speech"}, {"kind": "Role", "name": "small"}),
        ({"kind": "ServiceAccount", "name": "hub", "namespace": TEAM}, {"kind": "ClusterRole", "name": "edit"}),
    ],
)
def test_people_give_rights_to_their_programs_alone(
    cluster: TeamCluster, subject: dict[str, str], referred: dict[str, str]
) -> None:
    group = {} if subject["kind"] == "ServiceAccount" else {"apiGroup": GROUP}
    binding = {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": "given"},
        "subjects": [{**subject, **group}],
        "roleRef": {**referred, "apiGroup": GROUP},
    }
    ada = cluster.person()
    ada.kubectl("apply", "--filename=-", f"--namespace={TEAM}", stdin=role([]))
    assert BOUND in ada.makes(binding)


@pytest.mark.parametrize(
    ("resource", "verb", "refusal"),
    [
        ("serviceaccounts/token", "create", LASTING),
        ("serviceaccounts", "impersonate", LASTING),
        ("roles", "create", LASTING),
        ("rolebindings", "create", LASTING),
        ("resourcequotas", "delete", NOT_HELD),
        ("pods/binding", "create", NOT_HELD),
        ("pods/resize", "patch", NOT_HELD),
    ],
)
def test_a_role_contains_nothing_that_lasts_and_no_more_than_its_maker_may(
    cluster: TeamCluster, resource: str, verb: str, refusal: str
) -> None:
    group = GROUP if resource.startswith("role") else ""
    rule = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
    assert refusal in cluster.person().makes(role([rule]))


def test_bindings_of_administrators_stay(cluster: TeamCluster) -> None:
    ada = cluster.person()
    bindings = ada.kubectl("get", "rolebindings", f"--namespace={TEAM}", "--output=name").split()
    names = [name for name in bindings if "/longhaul:" in name]
    assert len(names) == 2
    subjects = {"subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": TEAM}]}
    for name in names:
        assert BOUND in ada.kubectl("delete", f"--namespace={TEAM}", name)
        assert BOUND in ada.kubectl("patch", name, f"--namespace={TEAM}", "--patch", json.dumps(subjects))
    # An administrator binds whom they like.
    words = ("create", "rolebinding", "guests", "--clusterrole=view", "--group=corp:guests", f"--namespace={TEAM}")
    cluster.server.kubectl(*words, "--dry-run=server", "--as=root", f"--as-group={ADMINISTRATORS_GROUP}")


def test_a_notebook_with_a_privileged_container_is_refused(cluster: TeamCluster) -> None:
    """As the chart's default has it (``singleuser.cloudMetadata.blockWithIptables``)."""
    notebook = pod("jupyter-ada")
    security = {"privileged": True, "runAsUser": 0, "capabilities": {"add": ["NET_ADMIN"]}}
    notebook["spec"]["initContainers"] = [{"name": "block", "image": "a:1", "securityContext": security}]
    assert 'violates PodSecurity "baseline' in cluster.person().makes(notebook)


def test_what_is_of_the_whole_cluster_is_an_administrators(cluster: TeamCluster) -> None:
    made = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "hub"}, "rules": []}
    assert "at the cluster scope" in cluster.person().makes(made)


def role(rules: list[dict[str, list[str]]]) -> dict[str, Any]:
    return {"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "small"}, "rules": rules}
