"""Conditions (CEL) of the policies in teams' namespaces, and whom and what these concern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.model.secrets.certificates import MASTERS_GROUP
from components.model.teams.queues import FRAMEWORKS, JOBSET, KUEUE
from contract.labels import TEAM_LABEL
from contract.object_names import SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        MatchConditionArgsDict,
        NamedRuleWithOperationsArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )
    from pulumi_kubernetes.meta.v1 import LabelSelectorArgsDict

PART = "teams"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
"""Labels by which Kueue knows a job's queue and priority (its pkg/controller/constants)."""
ACCOUNTS = f"system:serviceaccount:{SYSTEM_NAMESPACE}:"
"""Beginning of the users of Kubernetes' controllers, whose changes can be trusted."""
CONTROLLERS = f"{ACCOUNTS}{{}}-controller"
JOBS = CONTROLLERS.format("job")
"""User of Kubernetes' controller of Jobs, which makes their pods."""
MAKERS = tuple(CONTROLLERS.format(kind) for kind in ("job", "deployment", "replicaset", "statefulset", "daemon-set"))
"""Users of Kubernetes' controllers, whose owner references can be trusted."""
KUEUES = "kueue.x-k8s.io/"
"""Prefix of the names of Kueue's labels, annotations and scheduling gates."""
KNOWN = ("Job", "JobSet", "Pod")
"""Kinds of owners that Kueue follows to the job that it admitted."""
TEMPLATES = (
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("apps", "replicasets"),
    ("apps", "daemonsets"),
    ("", "replicationcontrollers"),
)
"""Kinds that make pods from a template that may be changed: API group and resource."""
TEAMS: LabelSelectorArgsDict = {"match_expressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}
CREATED = "request.operation == 'CREATE'"


def refusing(
    rules: list[NamedRuleWithOperationsArgsDict],
    needs: dict[str, str],
    *,
    conditions: list[MatchConditionArgsDict] | None = None,
) -> ValidatingAdmissionPolicySpecArgsDict:
    """Return a policy that applies in teams' namespaces to everybody except Kueue and JobSet."""
    return {
        "match_constraints": {"resource_rules": rules, "namespace_selector": TEAMS},
        "match_conditions": [not_of(KUEUE.user, JOBSET.user), *(conditions or [])],
        "failure_policy": "Fail",
        "validations": [
            {"expression": need, "message": message, "reason": "Forbidden"} for need, message in needs.items()
        ],
    }


def team_name() -> str:
    """Return the name (CEL) of the team of the namespace."""
    return f"namespaceObject.metadata.labels['{TEAM_LABEL}']"


def owner_condition() -> str:
    """Return the condition (CEL) that a new object names no job as its owner, unless Kubernetes' own controllers make
    it, and that an update does not change the owners."""
    unowned = f"{by(*MAKERS)} || !{owners('object')}.exists(o, o.kind in {list(KNOWN)})"
    return f"({CREATED} ? ({unowned}) : {by_trusted()} || {same_owners()})"


def same_owners() -> str:
    """Return the condition (CEL) that an update leaves an object's owners as they were."""
    return "object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])"


def owners(side: str) -> str:
    """Return the owners (CEL) that control an object."""
    return f"{side}.metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"


def keys(side: str, part: str) -> str:
    """Return the labels or annotations (CEL) of an object."""
    return f"{side}.metadata.?{part}.orValue({{}})"


def unchanged(part: str, changeable: Sequence[str], *, prefix: str = KUEUES) -> str:
    """Return the condition (CEL) that labels or annotations of Kueue, or of ``prefix``, are unchanged, except
    those that are ``changeable``."""
    new, old = keys("object", part), keys("oldObject", part)
    others = f"!({has_prefix(prefix)}) || k in {list(changeable)}"
    return f"{new}.all(k, {others} || {old}[?k] == {new}[?k]) && {old}.all(k, {others} || k in {new})"


def only(labels: str, allowed: object) -> str:
    """Return the condition (CEL) that labels or annotations contain none of Kueue's but those ``allowed``."""
    return f"{labels}.all(k, !({has_prefix(KUEUES)}) || k in {allowed})"


def has_prefix(prefix: str) -> str:
    """Return the condition (CEL) that the key ``k`` is in the domain ``prefix``, or in one below it."""
    return f"k.startsWith('{prefix}') || k.contains('.{prefix}')"


def templates_of(side: str) -> str:
    """Return the metadata (CEL) of all templates of a Job or a JobSet."""
    pods = "{}.?template.?metadata.orValue({{}})"
    roles = f"{side}.spec.?replicatedJobs.orValue([])"
    jobs = f"{roles}.map(r, {pods.format('r')}) + {roles}.map(r, {pods.format('r.template.spec')})"
    return f"([{pods.format(f'{side}.spec')}] + {jobs})"


def by_trusted() -> str:
    """Return the condition (CEL) that one of Kubernetes' own controllers asks, or an administrator."""
    return f"(request.userInfo.username.startsWith('{ACCOUNTS}') || '{MASTERS_GROUP}' in request.userInfo.groups)"


def not_of(*users: str) -> MatchConditionArgsDict:
    """Return the match condition that none of ``users`` asks."""
    return {"name": "not-of-the-queues", "expression": f"!({by(*users)})"}


def not_a_jobs_pod() -> MatchConditionArgsDict:
    """Return the condition (CEL) that the pod is not made by a Job: such a pod waits with its Job."""
    return {"name": "not-a-jobs-pod", "expression": f"!({by(JOBS)} && request.resource.resource == 'pods')"}


def queued(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for ``operations`` on the kinds that queue."""
    return [rule for group, resource in FRAMEWORKS.values() for rule in kind(group, resource, *operations)]


def jobs(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for ``operations`` on Jobs and JobSets."""
    return [*kind("batch", "jobs", *operations), *kind("jobset.x-k8s.io", "jobsets", *operations)]


def template_rules(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for ``operations`` on objects with a template of pods that are no jobs."""
    return [rule for path in TEMPLATES for rule in kind(*path, *operations)]


def pod_specifications(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for ``operations`` on everything that contains a pod's specification."""
    pods = kind("", "pods", *operations)
    return [*jobs(*operations), *kind("batch", "cronjobs", *operations), *template_rules(*operations), *pods]


def kind(group: str, resource: str, *operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    """Return the rules for ``operations`` on a resource."""
    return [{"api_groups": [group], "api_versions": ["*"], "operations": operations, "resources": [resource]}]


def by(*users: str) -> str:
    """Return the condition (CEL) that one of ``users`` asks."""
    return f"request.userInfo.username in {list(users)}"
