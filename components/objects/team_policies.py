"""Policies of the API servers in teams' namespaces: jobs and other kinds that queue wait in the team's queue with the
team's priority, only Kueue starts them, their pods end in time, and nobody gets GPUs without the queue.

The Jobs of a JobSet wait as parts of the JobSet, so they need no queue. Nobody else can claim to make a part of a
JobSet. Kueue leaves the parts of an admitted job to that job's controller (its pkg/controller/jobframework,
``FindAncestorJobManagedByKueue``), so only controllers may declare owners.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.model.teams.queues import FRAMEWORKS, JOBSET, KUEUE
from components.objects.admission import mutate, refuse
from contract.labels import TEAM_LABEL
from contract.object_names import SYSTEM_NAMESPACE
from contract.resources import GPU_RESOURCE

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
"""Name of each team's LocalQueue, which Kueue uses for jobs that name none."""

CONTROLLERS = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{{}}-controller"
JOBS = CONTROLLERS.format("job")
"""User of Kubernetes' controller of Jobs, which makes their pods."""
MAKERS = tuple(CONTROLLERS.format(kind) for kind in ("job", "deployment", "replicaset", "statefulset", "daemon-set"))
"""Users of Kubernetes' controllers, whose owner references can be trusted."""

MOST_GRACE_S = 600
"""Longest time that a team's pod may take to end, seconds. Kueue frees the pod's quota as soon as the pod is told to
end, but the node becomes free only when the pod has ended."""

KUEUES = "kueue.x-k8s.io/"
"""Prefix of the names of Kueue's labels, annotations and scheduling gates."""
GATE = f"{KUEUES}admission"
"""Scheduling gate that Kueue's webhook adds to a pod that no Job makes, until the pod is admitted."""
KNOWN = ("Job", "JobSet", "Pod", "Deployment", "ReplicaSet", "StatefulSet")
"""Kinds of owners that Kueue follows to the job that it admitted."""
TEMPLATES = (
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("apps", "replicasets"),
    ("apps", "daemonsets"),
    ("", "replicationcontrollers"),
)
"""Kinds that make pods from a template that may be changed: API group and resource."""
WORKLOADS = (f"{KUEUES}prebuilt-workload-name", f"{KUEUES}pod-group-name")
"""Labels, or annotations, that name an existing workload for Kueue to use. Kueue itself sets those of StatefulSets, by
an update of their pods."""

NAMES, KEPT = "longhaul-team-queues", "longhaul-teams"
"""Names of two policies: one writes queue and priority, the other keeps them."""
STARTS, GPUS, OWNERS = "longhaul-team-jobs", "longhaul-team-pods", "longhaul-team-owners"
"""Names of the policies for Jobs and JobSets, for pods, and for other kinds that make pods."""
ENDS, ASKED = "longhaul-team-ends", "longhaul-team-deletions"
"""Names of two policies for the time that pods take to end: the time that pods declare, and the time that a deletion
requests."""
TEAMS: LabelSelectorArgsDict = {"match_expressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}

ANOTHER = "a team's jobs wait in its own queue, default, with its own priority class"
NAMED = "Kueue alone names the workload, or the group of pods, that something of a team belongs to"
STARTED = "a team's jobs are made suspended, and started by Kueue alone"
ORPHANED = "pods of a team end with their job: delete it without --cascade=orphan"
OWNED = "who owns jobs and pods of a team is for Kubernetes' controllers to say; a Job may be a CronJob's"
PAST_THE_QUEUE = "GPUs of a team are had through its queue, as a Job, a JobSet, or a pod that Kueue holds back"
LATE = f"pods of a team end within {MOST_GRACE_S} s: terminationGracePeriodSeconds is at most that"
LIFTED = "only Kueue lifts its own gates, and writes its own labels and annotations of pods"

OLD, NEW = "oldObject.metadata.?labels.orValue({})", "object.metadata.?labels.orValue({})"
CREATED = "request.operation == 'CREATE'"


class TeamPolicies(ComponentResource):
    """The policies and their bindings, for all namespaces of teams."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:TeamPolicies", name, None, opts)
        named = mutate(NAMES, names_policy(), part=PART, parent=self)
        for policy, spec in {
            KEPT: kept_policy(),
            STARTS: starts_policy(),
            GPUS: gpus_policy(),
            OWNERS: owners_policy(),
            ENDS: ends_policy(),
            ASKED: deletions_policy(),
        }.items():
            # The first policy names the queue before another refuses objects that have none.
            refuse(policy, spec, part=PART, parent=self, after=[named])
        self.register_outputs({})


def names_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that adds the queue and priority of the team to new objects that name none."""
    none = "JSONPatch{op: 'add', path: '/metadata/labels', value: {}}"
    wanted = f"{{'{QUEUE}': '{LOCAL}', '{PRIORITY}': {_team()}}}"
    added = "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey(k), value: variables.wanted[k]}"
    missing = f"variables.wanted.map(k, k).filter(k, !(k in {NEW})).map(k, {added})"
    return {
        "match_constraints": {"resource_rules": _queued("CREATE"), "namespace_selector": TEAMS},
        "match_conditions": [_not_of(KUEUE.user, JOBSET.user), _not_a_job_s_pod()],
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
    """Return the policy that refuses other teams' queues and priorities, and labels that name an existing workload."""
    right = {QUEUE: f"'{LOCAL}'", PRIORITY: _team()}
    # When a Deployment from before Kueue is changed, Kueue's own webhook adds the queue.
    kept = " && ".join(
        f"({NEW}[?'{key}'].orValue('') == {value} || !({CREATED}) && {NEW}[?'{key}'] == {OLD}[?'{key}'])"
        for key, value in right.items()
    )
    named = " && ".join(
        f"({CREATED} ? !('{key}' in {_map('object', part)}) : "
        f"{_map('object', part)}[?'{key}'] == {_map('oldObject', part)}[?'{key}'])"
        for key in WORKLOADS
        for part in ("labels", "annotations")
    )
    return _refusing(_queued("CREATE", "UPDATE"), {kept: ANOTHER, named: NAMED}, conditions=[_not_a_job_s_pod()])


def starts_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that keeps Jobs and JobSets suspended until Kueue admits them, and refuses changes of their
    owners and deletions that orphan their pods."""
    suspended, was = (f"{side}.spec.?suspend.orValue(false)" for side in ("object", "oldObject"))
    # Kueue's webhook has suspended the job by now, unless it took the job for a part of another.
    condition = f"request.operation == 'DELETE' || {suspended} || !({CREATED}) && !{was}"
    policy, orphans = "request.?options.?propagationPolicy.orValue('')", "request.?options.?orphanDependents"
    deleted = f"request.operation != 'DELETE' || {policy} != 'Orphan' && !{orphans}.orValue(false)"
    finalizer = "'orphan' in {}.metadata.?finalizers.orValue([])"
    asked = f"request.operation == 'DELETE' || !({finalizer.format('object')})"
    before = f"request.operation == 'UPDATE' && {finalizer.format('oldObject')}"
    return _refusing(
        _jobs("CREATE", "UPDATE", "DELETE"),
        {
            f"request.operation == 'DELETE' || {_owner_condition('false')}": OWNED,
            condition: STARTED,
            f"({deleted}) && ({asked} || {before})": ORPHANED,
        },
    )


def gpus_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses GPUs to pods that bypass the queue, and lets only Kueue remove its scheduling
    gates."""
    gated = f"object.spec.?schedulingGates.orValue([]).exists(g, g.name == '{GATE}')"
    every = "(object.spec.containers + object.spec.?initContainers.orValue([]))"
    # A resource that has only a limit is requested as well by the time a policy sees the pod.
    asks = f"{every}.exists(c, '{GPU_RESOURCE}' in c.?resources.?requests.orValue({{}}))"
    gates = f"oldObject.spec.?schedulingGates.orValue([]).filter(g, g.name.startsWith('{KUEUES}'))"
    kept = f"{gates}.all(g, object.spec.?schedulingGates.orValue([]).exists(o, o.name == g.name))"
    return _refusing(
        _kind("", "pods", "CREATE", "UPDATE"),
        {
            f"!{asks} || {_owner_condition(_by(*MAKERS))}": OWNED,
            f"!({CREATED}) || {_unowned()}": OWNED,
            f"!({CREATED}) || {_by(JOBS)} || {gated} || !{asks}": PAST_THE_QUEUE,
            f"{CREATED} || {kept} && {_unchanged('annotations')} && {_unchanged('labels')}": LIFTED,
        },
    )


def owners_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that keeps Deployments, ReplicaSets and StatefulSets from declaring a job as their owner: Kueue
    would let their pods run for as long as that job runs. Kueue ignores owners of kinds that do not queue."""
    return _refusing(
        [
            rule
            for resource in ("deployments", "replicasets", "statefulsets")
            for rule in _kind("apps", resource, "CREATE", "UPDATE")
        ],
        {_unowned(): OWNED},
    )


def ends_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses templates of pods, and pods without a template, that take longer to end than
    allowed. Existing objects stay as they are."""
    grace = "{}.?terminationGracePeriodSeconds.orValue(0)"
    template = grace.format("{}.?template.?spec")
    roles = f"object.spec.?replicatedJobs.orValue([]).map(r, {template.format('r.template.spec')})"
    graces = [
        grace.format("object.spec"),
        template.format("object.spec"),
        template.format("object.spec.?jobTemplate.?spec"),
    ]
    every = f"([{', '.join(graces)}] + {roles}).all(s, s <= {MOST_GRACE_S})"
    kept = " && ".join(f"{expression} == {expression.replace('object', 'oldObject')}" for expression in graces)
    same = f"!({CREATED}) && {kept}"
    made = f"request.resource.resource == 'pods' && {_by(*MAKERS)}"
    changed = [rule for path in TEMPLATES for rule in _kind(*path, "CREATE", "UPDATE")]
    rules = [*_jobs("CREATE"), *_kind("batch", "cronjobs", "CREATE", "UPDATE"), *changed, *_kind("", "pods", "CREATE")]
    return _refusing(rules, {f"{made} || {same} || {every}": LATE})


def deletions_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses a longer time to end when pods are deleted or evicted."""
    options = f"({CREATED} ? object.?deleteOptions : request.?options)"
    return _refusing(
        [*_kind("", "pods", "DELETE"), *_kind("", "pods/eviction", "CREATE")],
        {f"{options}.?gracePeriodSeconds.orValue(0) <= {MOST_GRACE_S}": LATE},
    )


def _refusing(
    rules: list[NamedRuleWithOperationsArgsDict],
    needs: dict[str, str],
    *,
    conditions: list[MatchConditionArgsDict] | None = None,
) -> ValidatingAdmissionPolicySpecArgsDict:
    """Return a policy that applies in teams' namespaces to everybody except Kueue and JobSet."""
    return {
        "match_constraints": {"resource_rules": rules, "namespace_selector": TEAMS},
        "match_conditions": [_not_of(KUEUE.user, JOBSET.user), *(conditions or [])],
        "failure_policy": "Fail",
        "validations": [
            {"expression": need, "message": message, "reason": "Forbidden"} for need, message in needs.items()
        ],
    }


def _team() -> str:
    return f"namespaceObject.metadata.labels['{TEAM_LABEL}']"


def _owner_condition(trusted: str) -> str:
    """Return the condition (CEL) that a new object has no controller except a CronJob, or that ``trusted`` (CEL) is
    true, and that an update does not change the controllers."""
    new, old = _owners("object"), _owners("oldObject")
    made = f"{trusted} || {new}.all(o, o.kind == 'CronJob' && o.apiVersion.startsWith('batch/'))"
    return f"({CREATED} ? ({made}) : {new}.map(o, o.uid) == {old}.map(o, o.uid))"


def _unowned() -> str:
    """Return the condition (CEL) that an object names no job as its owner, unless Kubernetes' own controllers write the
    object."""
    return f"{_by(*MAKERS)} || !{_owners('object')}.exists(o, o.kind in {list(KNOWN)})"


def _owners(side: str) -> str:
    return f"{side}.metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"


def _map(side: str, part: str) -> str:
    return f"{side}.metadata.?{part}.orValue({{}})"


def _unchanged(part: str) -> str:
    """Return the condition (CEL) that labels or annotations of Kueue are unchanged, except those that another policy
    keeps (`KEPT`)."""
    new, old = _map("object", part), _map("oldObject", part)
    others = f"!k.startsWith('{KUEUES}') || k in ['{QUEUE}', '{PRIORITY}']"
    return f"{new}.all(k, {others} || {old}[?k] == {new}[?k]) && {old}.all(k, {others} || k in {new})"


def _not_of(*users: str) -> MatchConditionArgsDict:
    return {"name": "not-of-the-queues", "expression": f"!({_by(*users)})"}


def _not_a_job_s_pod() -> MatchConditionArgsDict:
    """Return the condition (CEL) that the pod is not made by a Job: such a pod waits with its Job."""
    return {"name": "not-a-jobs-pod", "expression": f"!({_by(JOBS)} && request.resource.resource == 'pods')"}


def _queued(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [rule for group, resource in FRAMEWORKS.values() for rule in _kind(group, resource, *operations)]


def _jobs(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [*_kind("batch", "jobs", *operations), *_kind("jobset.x-k8s.io", "jobsets", *operations)]


def _kind(group: str, resource: str, *operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [{"api_groups": [group], "api_versions": ["*"], "operations": operations, "resources": [resource]}]


def _by(*users: str) -> str:
    return f"request.userInfo.username in {list(users)}"
