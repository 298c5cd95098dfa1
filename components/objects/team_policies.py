"""Policies of the API servers in teams' namespaces: what queues waits in the team's queue, with the team's priority, is
started by Kueue alone, ends in time, and nobody has GPUs past it.

JobSets make Jobs of their own, which wait as parts of the JobSet: so what the JobSet controller itself makes needs
no queue. Who pretends to be a part of a JobSet is not that controller. Kueue leaves what belongs to an admitted job
to that job's controller (its pkg/controller/jobframework, ``FindAncestorJobManagedByKueue``), so who owns a thing is
for controllers to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.model.teams.queues import FRAMEWORKS, JOBSET, KUEUE
from components.objects.admission import mutate, refuse
from contract.labels import TEAM_LABEL
from contract.objects import SYSTEM_NAMESPACE
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
"""Name of each team's LocalQueue, which Kueue takes for whoever names none."""

CONTROLLERS = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{{}}-controller"
JOBS = CONTROLLERS.format("job")
"""User of Kubernetes' controller of Jobs, which makes their pods."""
MAKERS = tuple(CONTROLLERS.format(kind) for kind in ("job", "deployment", "replicaset", "statefulset", "daemon-set"))
"""Users of Kubernetes' controllers, which say truly what they make things for."""

MOST_GRACE_S = 600
"""Longest time that a team's pod may take to end, seconds: Kueue gives its quota on as soon as it is asked to, and the
node is not free before."""

KUEUES = "kueue.x-k8s.io/"
"""Begin of the names of labels, annotations and scheduling gates that are Kueue's."""
GATE = f"{KUEUES}admission"
"""Scheduling gate that Kueue's webhook gives a pod which no Job makes, until it is admitted."""
KNOWN = ("Job", "JobSet", "Pod", "Deployment", "ReplicaSet", "StatefulSet")
"""Kinds of owners that Kueue follows to the job which it admitted."""
TEMPLATES = (
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("apps", "replicasets"),
    ("apps", "daemonsets"),
    ("", "replicationcontrollers"),
)
"""Kinds that have pods made by a template which may be changed: API group and resource."""
WORKLOADS = (f"{KUEUES}prebuilt-workload-name", f"{KUEUES}pod-group-name")
"""Labels, or annotations, that name a workload which Kueue is to take for this, too. It names those of StatefulSets
itself, by an update of their pods."""

NAMES, KEPT = "longhaul-team-queues", "longhaul-teams"
"""Names of two policies: one writes queue and priority, the other keeps them."""
STARTS, GPUS, OWNERS = "longhaul-team-jobs", "longhaul-team-pods", "longhaul-team-owners"
"""Names of the policies of Jobs and JobSets, of pods, and of what makes pods otherwise."""
ENDS, ASKED = "longhaul-team-ends", "longhaul-team-deletions"
"""Names of the policies of the time that pods take to end, by themselves and as who deletes them asks for."""
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
            # Before one refuses what has no queue, the first one names it.
            refuse(policy, spec, part=PART, parent=self, after=[named])
        self.register_outputs({})


def names_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that gives what is new, and queues, its team's queue and priority, unless it names some."""
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
    """Return the policy that refuses other queues and priorities, and workloads of others."""
    right = {QUEUE: f"'{LOCAL}'", PRIORITY: _team()}
    # Kueue's own webhook gives Deployments from before their queue when they are changed.
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
    """Return the policy that keeps Jobs and JobSets suspended until Kueue admits them, and their pods theirs."""
    suspended, was = (f"{side}.spec.?suspend.orValue(false)" for side in ("object", "oldObject"))
    # Kueue's webhook has suspended it by now, unless it took it for a part of another job.
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
    """Return the policy that refuses pods GPUs past the queue, and lets Kueue alone lift its gates."""
    gated = f"object.spec.?schedulingGates.orValue([]).exists(g, g.name == '{GATE}')"
    every = "(object.spec.containers + object.spec.?initContainers.orValue([]))"
    # What is asked for by a limit alone is requested as well, by the time a policy sees it.
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
    """Return the policy that keeps what makes pods by other ways from being a part of another job: Kueue would let its
    pods run for as long as that runs. Owners of kinds that do not queue are nothing to it."""
    return _refusing(
        [
            rule
            for resource in ("deployments", "replicasets", "statefulsets")
            for rule in _kind("apps", resource, "CREATE", "UPDATE")
        ],
        {_unowned(): OWNED},
    )


def ends_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses what pods are made from, and pods that nobody made from that, if they take longer
    to end than they may. What was there before stays as it is."""
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
    """Return the policy that refuses to give pods longer when they are deleted or evicted."""
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
    """Return a policy that everybody but Kueue and JobSet keeps in teams' namespaces: needs, and what else is said."""
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
    """Return that a thing's controller is nobody, a CronJob or, by who is trusted, any; and that it stays."""
    new, old = _owners("object"), _owners("oldObject")
    made = f"{trusted} || {new}.all(o, o.kind == 'CronJob' && o.apiVersion.startsWith('batch/'))"
    return f"({CREATED} ? ({made}) : {new}.map(o, o.uid) == {old}.map(o, o.uid))"


def _unowned() -> str:
    """Return that a thing says of no job that it is its part, unless Kubernetes' own controllers say so."""
    return f"{_by(*MAKERS)} || !{_owners('object')}.exists(o, o.kind in {list(KNOWN)})"


def _owners(side: str) -> str:
    return f"{side}.metadata.?ownerReferences.orValue([]).filter(o, o.?controller.orValue(false))"


def _map(side: str, part: str) -> str:
    return f"{side}.metadata.?{part}.orValue({{}})"


def _unchanged(part: str) -> str:
    """Return that labels or annotations of Kueue's are as they were, those that it keeps elsewhere (`KEPT`) aside."""
    new, old = _map("object", part), _map("oldObject", part)
    others = f"!k.startsWith('{KUEUES}') || k in ['{QUEUE}', '{PRIORITY}']"
    return f"{new}.all(k, {others} || {old}[?k] == {new}[?k]) && {old}.all(k, {others} || k in {new})"


def _not_of(*users: str) -> MatchConditionArgsDict:
    return {"name": "not-of-the-queues", "expression": f"!({_by(*users)})"}


def _not_a_job_s_pod() -> MatchConditionArgsDict:
    """Return that it is no pod which a Job makes: that waits with it."""
    return {"name": "not-a-jobs-pod", "expression": f"!({_by(JOBS)} && request.resource.resource == 'pods')"}


def _queued(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [rule for group, resource in FRAMEWORKS.values() for rule in _kind(group, resource, *operations)]


def _jobs(*operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [*_kind("batch", "jobs", *operations), *_kind("jobset.x-k8s.io", "jobsets", *operations)]


def _kind(group: str, resource: str, *operations: str) -> list[NamedRuleWithOperationsArgsDict]:
    return [{"api_groups": [group], "api_versions": ["*"], "operations": operations, "resources": [resource]}]


def _by(*users: str) -> str:
    return f"request.userInfo.username in {list(users)}"
