"""The policy of the API servers that writes the requests of containers in teams' namespaces, so that what Kueue counts
is what a pod gets.

Kueue fills in a namespace's defaults first and takes a limit for a missing request last; the API servers do it the
other way round when they make the pod. So a Job with only limits would be counted by the defaults, and its pods get
the limits. A limit below a default would never be admitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.model.teams.queues import JOBSET, KUEUE
from components.objects.team_conditions import TEAMS, not_a_jobs_pod, not_of, queued

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import MutatingAdmissionPolicySpecArgsDict

SIZES = "longhaul-team-sizes"
"""Name of the policy."""
REQUESTS = {"cpu": "1", "memory": "2Gi"}
"""Requests of a container that has neither a request nor a limit. There is no default limit, because a limit would end
training in the middle of its work."""
LEAST = {"cpu": "10m", "memory": "16Mi"}
"""Smallest requests of a container. A pod that requests nothing would count against no share, while it keeps a node
from being removed."""

PODS = {"pods": "/spec", "jobs": "/spec/template/spec"}
"""Path of the pod's specification by resource, where there is one; a JobSet has many."""


def sizes_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that writes each container's requests of cores and memory: the limit where there is no request,
    and :data:`REQUESTS` where there is neither. Pods that have resources as a whole are left as they are."""
    roles = "object.spec.?replicatedJobs.orValue([])"
    role = _of_pod(
        "r.template.spec.template.spec", "'/spec/replicatedJobs/' + string(i) + '/template/spec/template/spec'"
    )
    single = " : ".join(
        f"request.resource.resource == '{resource}' ? {_of_pod('object' + path.replace('/', '.'), repr(path))}"
        for resource, path in PODS.items()
    )
    several = f"{roles}.transformList(i, r, {role}).flatten()"
    return {
        "match_constraints": {"resource_rules": queued("CREATE", "UPDATE"), "namespace_selector": TEAMS},
        "match_conditions": [
            not_of(KUEUE.user, JOBSET.user),
            not_a_jobs_pod(),
            # The resources of an existing pod are what they are.
            {
                "name": "no-old-pod",
                "expression": "request.operation == 'CREATE' || request.resource.resource != 'pods'",
            },
        ],
        "failure_policy": "Fail",
        "reinvocation_policy": "Never",
        "mutations": [{"patch_type": "JSONPatch", "json_patch": {"expression": f"{single} : {several}"}}],
    }


def _of_pod(spec: str, path: str) -> str:
    """Return the patches (CEL) of all containers of a pod; ``path`` (CEL) is the path of its specification."""
    lists = []
    for field in ("containers", "initContainers"):
        patches = _of_container(f"{path} + '/{field}/' + string(n)")
        lists.append(f"{spec}.?{field}.orValue([]).transformList(n, c, {patches})")
    return f"(has({spec}.resources) ? [] : ({' + '.join(lists)}).flatten())"


def _of_container(path: str) -> str:
    """Return the patches (CEL) of the container ``c`` at ``path`` (CEL)."""
    requests, limits = "c.?resources.?requests", "c.?resources.?limits"
    added = [
        f"(has(c.resources) ? [] : [{_add(path, '/resources', '{}')}])",
        f"({requests}.hasValue() ? [] : [{_add(path, '/resources/requests', '{}')}])",
    ]
    for name, value in REQUESTS.items():
        patch = _add(path, f"/resources/requests/{name}", f"{limits}[?'{name}'].orValue('{value}')")
        added.append(f"('{name}' in {requests}.orValue({{}}) ? [] : [{patch}])")
    return f"({' + '.join(added)})"


def _add(path: str, below: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: {path} + '{below}', value: dyn({value})}}"
