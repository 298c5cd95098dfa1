"""Policies of the API servers in teams' namespaces: each Job and JobSet waits in the team's queue, with the team's
priority, and nobody has GPUs past it.

JobSets make Jobs of their own, which wait as parts of the JobSet: so what the JobSet controller itself makes needs
no queue. Who pretends to be a part of a JobSet is not that controller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)

from components.model.queues import JOBSET, KUEUE, TEAM_LABEL
from components.objects.labels import meta

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        MatchConditionArgsDict,
        MutatingAdmissionPolicySpecArgsDict,
        NamedRuleWithOperationsArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )
    from pulumi_kubernetes.meta.v1 import LabelSelectorArgsDict

PART = "teams"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
"""Labels by which Kueue knows a job's queue and priority (its pkg/controller/constants)."""
LOCAL = "default"
"""Name of each team's LocalQueue, which Kueue takes for whoever names none."""
GPU = "nvidia.com/gpu"

JOBS = "system:serviceaccount:kube-system:job-controller"
"""User of Kubernetes' controller of Jobs, which makes their pods."""

GATE = "kueue.x-k8s.io/admission"
"""Scheduling gate that Kueue's webhook gives a pod which no Job makes, until it is admitted."""

NAMES, KEPT = "longhaul-team-queues", "longhaul-teams"
"""Names of the two policies: one writes queue and priority, the other keeps them."""
TEAMS: LabelSelectorArgsDict = {"match_expressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}

ANOTHER = "a team's jobs wait in its own queue, default, with its own priority class"
PAST_THE_QUEUE = "GPUs of a team are had through its queue, as a Job, a JobSet, or a pod that Kueue holds back"
LIFTED = "only Kueue lifts its own gate"

OLD, NEW = "oldObject.metadata.?labels.orValue({})", "object.metadata.?labels.orValue({})"


class TeamPolicies(ComponentResource):
    """The two policies and their bindings, for all namespaces of teams."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:TeamPolicies", name, None, opts)
        child = ResourceOptions(parent=self)
        named = MutatingAdmissionPolicy(NAMES, metadata=meta(NAMES, part=PART), spec=names_policy(), opts=child)
        MutatingAdmissionPolicyBinding(
            f"{NAMES}-everywhere",
            metadata=meta(NAMES, part=PART),
            spec={"policy_name": NAMES},
            opts=ResourceOptions(parent=self, depends_on=[named]),
        )
        kept = ValidatingAdmissionPolicy(KEPT, metadata=meta(KEPT, part=PART), spec=kept_policy(), opts=child)
        ValidatingAdmissionPolicyBinding(
            f"{KEPT}-everywhere",
            metadata=meta(KEPT, part=PART),
            spec={"policy_name": KEPT, "validation_actions": ["Deny"]},
            # Before it refuses what has no queue, the other one names it.
            opts=ResourceOptions(parent=self, depends_on=[kept, named]),
        )
        self.register_outputs({})


def names_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that gives new Jobs and JobSets of a team its queue and its priority, unless they name some."""
    none = "JSONPatch{op: 'add', path: '/metadata/labels', value: {}}"
    wanted = f"{{'{QUEUE}': '{LOCAL}', '{PRIORITY}': {_team()}}}"
    added = "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey(k), value: variables.wanted[k]}"
    missing = f"variables.wanted.map(k, k).filter(k, !(k in {NEW})).map(k, {added})"
    return {
        "match_constraints": {"resource_rules": _jobs("CREATE"), "namespace_selector": TEAMS},
        "match_conditions": [_not_of_a_jobset()],
        "variables": [{"name": "wanted", "expression": wanted}],
        "failure_policy": "Fail",
        "reinvocation_policy": "Never",
        "mutations": [
            {
                "patch_type": "JSONPatch",
                "json_patch": {"expression": f"(has(object.metadata.labels) ? [] : [{none}]) + {missing}"},
            }
        ],
    }


def kept_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses other queues and priorities, and GPUs past the queue."""
    right = f"{NEW}[?'{QUEUE}'].orValue('') == '{LOCAL}' && {NEW}[?'{PRIORITY}'].orValue('') == {_team()}"
    same = " && ".join(f"{NEW}[?'{key}'] == {OLD}[?'{key}']" for key in (QUEUE, PRIORITY))
    job = "request.resource.resource != 'pods'"
    gated, was = (
        f"{one}.spec.?schedulingGates.orValue([]).exists(g, g.name == '{GATE}')" for one in ("object", "oldObject")
    )
    every = "(object.spec.containers + object.spec.?initContainers.orValue([]))"
    # What is asked for by a limit alone is requested as well, by the time a policy sees it.
    asks = f"{every}.exists(c, '{GPU}' in c.?resources.?requests.orValue({{}}))"
    return {
        "match_constraints": {
            "resource_rules": [*_jobs("CREATE", "UPDATE"), *_kind("", "pods", "CREATE", "UPDATE")],
            "namespace_selector": TEAMS,
        },
        "match_conditions": [_not_of_a_jobset()],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": f"!({job}) || (request.operation == 'CREATE' ? ({right}) : ({same}))",
                "message": ANOTHER,
                "reason": "Forbidden",
            },
            {
                "expression": f"{job} || request.operation == 'UPDATE' || {_by(JOBS)} || {gated} || !{asks}",
                "message": PAST_THE_QUEUE,
                "reason": "Forbidden",
            },
            {
                "expression": f"{job} || request.operation == 'CREATE' || {_by(KUEUE.user)} || {gated} || !{was}",
                "message": LIFTED,
                "reason": "Forbidden",
            },
        ],
    }


def _team() -> str:
    return f"namespaceObject.metadata.labels['{TEAM_LABEL}']"


def _not_of_a_jobset() -> MatchConditionArgsDict:
    return {"name": "not-of-a-jobset", "expression": f"!({_by(JOBSET.user)})"}


def _jobs(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [*_kind("batch", "jobs", *operations), *_kind("jobset.x-k8s.io", "jobsets", *operations)]


def _kind(group: str, resource: str, *operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [{"api_groups": [group], "api_versions": ["*"], "operations": operations, "resources": [resource]}]


def _by(user: str) -> str:
    return f"request.userInfo.username == '{user}'"
