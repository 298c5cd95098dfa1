"""The policy of the API servers that writes the requests of jobs' containers in teams' namespaces, so that what Kueue
counts is what a pod gets.

Kueue fills in a namespace's defaults first and takes a limit for a missing request last; the API servers do it the
other way round when they make the pod. So a Job with only limits would be counted by the defaults, and its pods get
the limits. A limit below a default would never be admitted.

What is written into a Job stays in it, and a file that is applied again says nothing of it. So a request that was
written follows its limit when somebody changes that: otherwise Kueue would count the former one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.model.teams.queues import JOBSET, KUEUE
from components.objects.jobset_defaults import jobset_defaults
from components.objects.team_conditions import CREATED, TEAMS, jobs, not_of

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


def sizes_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that writes each container's requests of cores and memory into Jobs and JobSets: the limit
    where there is no request, and :data:`REQUESTS` where there is neither, nor a size of the pod as a whole. It writes
    JobSet's own defaults too."""
    job = _of_pod("object.spec.template.spec", "'/spec/template/spec'", before="oldObject.spec.template.spec")
    path = "'/spec/replicatedJobs/' + string(i) + '/template/spec/template/spec'"
    roles = (
        f"object.spec.replicatedJobs.transformList(i, r, {_of_pod('r.template.spec.template.spec', path)}).flatten()"
    )
    # The template of a job that was made before this policy stays: what is written into it would refuse every change.
    changed = " || ".join(
        [
            CREATED,
            *(
                f"object.spec.?{field} != oldObject.spec.?{field}"
                for field in ("template", "replicatedJobs", "network")
            ),
        ]
    )
    return {
        "match_constraints": {"resource_rules": jobs("CREATE", "UPDATE"), "namespace_selector": TEAMS},
        "match_conditions": [not_of(KUEUE.user, JOBSET.user), {"name": "templates", "expression": changed}],
        "failure_policy": "Fail",
        "reinvocation_policy": "Never",
        "mutations": [
            {
                "patch_type": "JSONPatch",
                "json_patch": {"expression": f"has(object.spec.replicatedJobs) ? {roles} : {job}"},
            },
            {"patch_type": "JSONPatch", "json_patch": {"expression": jobset_defaults()}},
        ],
    }


def _of_pod(spec: str, path: str, *, before: str = "") -> str:
    """Return the patches (CEL) of all containers of a pod; ``path`` (CEL) is the path of its specification, ``before``
    (CEL) the former specification if its requests may change."""
    lists = []
    for field in ("containers", "initContainers"):
        patches = _of_container(spec, f"{path} + '/{field}/' + string(n)", before=before and f"{before}.?{field}")
        # A Job without a template has null there, which Kubernetes refuses in its own words.
        containers = f"({spec}.?{field}.orValue(null) == null ? [] : {spec}.{field})"
        lists.append(f"{containers}.transformList(n, c, {patches})")
    return f"({' + '.join(lists)}).flatten()"


def _of_container(spec: str, path: str, *, before: str) -> str:
    """Return the patches (CEL) of the container ``c`` at ``path`` (CEL), of the pod ``spec`` (CEL)."""
    requests, limits = "c.?resources.?requests", "c.?resources.?limits"
    whole = f"{spec}.?resources"
    patches = [
        f"(has(c.resources) ? [] : [{_add(path, '/resources', '{}')}])",
        f"({requests}.hasValue() ? [] : [{_add(path, '/resources/requests', '{}')}])",
    ]
    for name, value in REQUESTS.items():
        # What the pod says of a resource as a whole, its containers need not say.
        sized = f"({whole}.?requests[?'{name}'].hasValue() || {whole}.?limits[?'{name}'].hasValue())"
        patch = _add(path, f"/resources/requests/{name}", f"{limits}[?'{name}'].orValue('{value}')")
        known = f"'{name}' in {requests}.orValue({{}}) || {sized} && !{limits}[?'{name}'].hasValue()"
        if before:
            known = f"({known}) && !({_has_changed(before, name, value)})"
        patches.append(f"({known} ? [] : [{patch}])")
    return f"({' + '.join(patches)})"


def _has_changed(before: str, name: str, value: str) -> str:
    """Return the condition (CEL) that a limit of the container ``c`` has changed, and its request, which is as it would
    have been written, has not. ``before`` (CEL) is the former list of containers, ``value`` the default."""
    limit, was = f"c.?resources.?limits[?'{name}']", f"o.?resources.?limits[?'{name}']"
    request, requested = f"c.?resources.?requests[?'{name}']", f"o.?resources.?requests[?'{name}']"
    written = f"{requested}.orValue('') == {was}.orValue('{value}') && {request} == {requested}"
    same = f"o.name == c.name && {limit}.hasValue() && {limit} != {was} && {written}"
    return f"request.operation == 'UPDATE' && {before}.orValue([]).exists(o, {same})"


def _add(path: str, below: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: {path} + '{below}', value: dyn({value})}}"
