"""Policies of the API servers in teams' namespaces: jobs and other kinds that queue wait in the team's queue with the
team's priority, only Kueue starts them, their pods end in time, and no pod starts without the queue.

What people may change is listed: of a job that runs, of the parts of a job, and of pods. Everything else of these stays
as Kueue admitted it, since Kueue compares neither the parts of a JobSet nor pods with what it admitted.

The Jobs of a JobSet wait as parts of the JobSet, so they need no queue. Nobody else can claim to make a part of a
JobSet. Kueue leaves the parts of an admitted job to that job's controller (its pkg/controller/jobframework,
``FindAncestorJobManagedByKueue``), so only controllers may declare owners. All other pods are admitted one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions

from components.model.teams.queues import JOBSET, KUEUE
from components.objects.admission import NEW_LABELS, OLD_LABELS, mutate, refuse
from components.objects.team_admissions import ADMISSIONS, admissions_policy
from components.objects.team_conditions import (
    CREATED,
    JOBS,
    KNOWN,
    KUEUES,
    PART,
    PRIORITY,
    QUEUE,
    TEAMS,
    by,
    by_trusted,
    jobs,
    keys,
    kind,
    not_a_jobs_pod,
    not_of,
    only,
    owner_condition,
    owners,
    queued,
    refusing,
    team_name,
    template_rules,
    templates_of,
    unchanged,
)
from components.objects.team_endings import ASKED, ENDS, deletions_policy, ends_policy
from components.objects.team_lengths import LENGTHS, lengths_policy
from components.objects.team_parts import PARTS, parts_policy
from components.objects.team_tolerations import TOLERATIONS, tolerations_policy
from contract.users import ACCOUNTANT_USER

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import (
        MutatingAdmissionPolicySpecArgsDict,
        ValidatingAdmissionPolicySpecArgsDict,
    )

LOCAL = "default"
"""Name of each team's LocalQueue, which Kueue uses for jobs that name none."""
GATE = f"{KUEUES}admission"
"""Scheduling gate that Kueue's webhook adds to a pod that no Job makes, until the pod is admitted."""
PEOPLE_KEYS = (QUEUE, PRIORITY, f"{KUEUES}max-exec-time-seconds")
"""Kueue's labels that people may write on jobs and pods. All other labels and annotations are Kueue's own."""
MANAGED, ROLE_HASH = f"{KUEUES}managed", f"{KUEUES}role-hash"
"""Label and annotation that Kueue's webhook adds to a new pod before a policy sees it."""
JOB_FIELDS = (
    "suspend",
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "maxFailedIndexes",
    "ttlSecondsAfterFinished",
)
"""Fields of a running Job that people may change; its numbers of pods only downwards."""
SET_FIELDS = ("suspend", "ttlSecondsAfterFinished")
"""Fields of a running JobSet that people may change."""
POD_FINALIZERS = ("batch.kubernetes.io/job-tracking", MANAGED)
"""Finalizers by which the controller of Jobs, and Kueue, count pods."""
CONTROLLERS_DOMAINS = ("batch.kubernetes.io", "jobset.sigs.k8s.io")
"""Domains of the annotations that the controllers of Jobs and JobSets write on parts of a job."""

NAMES, KEPT = "longhaul-team-queues", "longhaul-teams"
"""Names of two policies: one writes queue and priority, the other keeps them."""
STARTS, PODS, OWNERS = "longhaul-team-jobs", "longhaul-team-pods", "longhaul-team-owners"
"""Names of the policies for Jobs and JobSets, for pods, and for other kinds that make pods."""

ANOTHER = "a team's jobs wait in its own queue, default, with its own priority class"
NAMED = (
    f"labels and annotations {KUEUES}* are Kueue's, except {', '.join(key.removeprefix(KUEUES) for key in PEOPLE_KEYS)}"
)
STARTED = "a team's jobs are made suspended, and started by Kueue alone"
ORPHANED = "pods of a team end with their job: delete it with propagationPolicy Background, as kubectl does"
PINNED = (
    "people add no finalizers to a team's jobs: Kueue frees the quota of a job that is deleted, while its pods run on"
)
OWNED = "nothing of a team that people make is a part of a Job, a JobSet or a Pod, and owners do not change"
PAST_THE_QUEUE = (
    "pods of a team start through its queue, as parts of a Job or a JobSet, or as pods that Kueue holds back"
)
MADE = "parts of a job stay as the job made them: change the job"
FROZEN = (
    "a job that runs keeps its size: it may shrink, end sooner, or be suspended, which puts it into the queue again;"
    " to grow it or to change it otherwise, suspend it in the same change, or make another"
)
NAMED_SERVICES = (
    "a JobSet keeps its network and its volume claims, by which its controller makes Services and claims: make another"
)
PLACED = "the scheduler places a team's pods: leave nodeName out, and select nodes by their labels"
LIFTED = "only Kueue lifts its own gates"


class TeamPolicies(ComponentResource):
    """The policies and their bindings, for all namespaces of teams."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:TeamPolicies", name, None, opts)
        named = mutate(NAMES, names_policy(), part=PART, parent=self)
        for policy, spec in {
            KEPT: kept_policy(),
            STARTS: starts_policy(),
            PODS: pods_policy(),
            OWNERS: owners_policy(),
            ENDS: ends_policy(),
            ASKED: deletions_policy(),
            LENGTHS: lengths_policy(),
            ADMISSIONS: admissions_policy(),
            PARTS: parts_policy(),
            TOLERATIONS: tolerations_policy(),
        }.items():
            # The first policy names the queue before another refuses objects that have none.
            refuse(policy, spec, part=PART, parent=self, after=[named])
        self.register_outputs({})


def names_policy() -> MutatingAdmissionPolicySpecArgsDict:
    """Return the policy that adds the queue and priority of the team to new objects that name none."""
    none = "JSONPatch{op: 'add', path: '/metadata/labels', value: {}}"
    wanted = f"{{'{QUEUE}': '{LOCAL}', '{PRIORITY}': {team_name()}}}"
    added = "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey(k), value: variables.wanted[k]}"
    missing = f"variables.wanted.map(k, k).filter(k, !(k in {NEW_LABELS})).map(k, {added})"
    return {
        "match_constraints": {"resource_rules": queued("CREATE"), "namespace_selector": TEAMS},
        "match_conditions": [not_of(KUEUE.user, JOBSET.user), not_a_jobs_pod()],
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
    """Return the policy that refuses other teams' queues and priorities, and Kueue's own labels and annotations."""
    right = {QUEUE: f"'{LOCAL}'", PRIORITY: team_name()}
    kept = " && ".join(
        f"({NEW_LABELS}[?'{key}'].orValue('') == {value}"
        f" || !({CREATED}) && {NEW_LABELS}[?'{key}'] == {OLD_LABELS}[?'{key}'])"
        for key, value in right.items()
    )
    pods = "request.resource.resource == 'pods'"
    named = " && ".join(
        f"({CREATED} ? {only(keys('object', part), f'({pods} ? {[*people, added]} : {[*people]})')} : "
        f"{unchanged(part, people[:2])})"
        for part, people, added in (("labels", PEOPLE_KEYS, MANAGED), ("annotations", (), ROLE_HASH))
    )
    return refusing(queued("CREATE", "UPDATE"), {kept: ANOTHER, named: NAMED}, conditions=[not_a_jobs_pod()])


def starts_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that keeps Jobs and JobSets suspended until Kueue admits them, and then as they were admitted,
    and refuses deletions and finalizers that leave their pods."""
    deleting, updating = "request.operation == 'DELETE'", "request.operation == 'UPDATE'"
    suspended, was = (f"{side}.spec.?suspend.orValue(false)" for side in ("object", "oldObject"))
    # Kueue's webhook has suspended the job by now, unless it took the job for a part of another.
    condition = f"{deleting} || {suspended} || !({CREATED}) && !{was}"
    policy, orphans = "request.?options.?propagationPolicy.orValue('')", "request.?options.?orphanDependents"
    # A Job whose deletion names no policy leaves its pods, a JobSet does not.
    named = f"{policy} in ['Background', 'Foreground'] || {orphans} == optional.of(false)"
    unsaid = f"request.resource.resource == 'jobsets' && {policy} == '' && !{orphans}.orValue(false)"
    finalizers = "{}.metadata.?finalizers.orValue([])"
    before = f"({CREATED} ? [] : {finalizers.format('oldObject')})"
    pinned = f"request.operation != 'DELETE' && !{finalizers.format('object')}.all(f, f in {before})"
    part = f"{owners('oldObject')}.exists(o, o.kind in {list(KNOWN)})"
    # JobSet finds its Jobs, and counts those that succeeded, by labels.
    kept = f"object.spec == oldObject.spec && {_same_labels()}"
    runs = f"!{suspended} && !{was}"
    # The definition of JobSets says the same, and lets both be left out (jobset 0.12, api/jobset/v1alpha2).
    claims = " && ".join(
        f"object.spec.?{field} == oldObject.spec.?{field}" for field in ("network", "volumeClaimPolicies")
    )
    templates = templates_of("object")
    few = f"{only('m.?labels.orValue({})', list(PEOPLE_KEYS[:2]))} && {only('m.?annotations.orValue({})', [])}"
    few_keys = f"{templates}.all(m, {few})"
    return refusing(
        jobs("CREATE", "UPDATE", "DELETE"),
        {
            f"{deleting} || {owner_condition()}": OWNED,
            condition: STARTED,
            f"{by_trusted()} || request.operation != 'DELETE' || {named} || {unsaid}": ORPHANED,
            f"{by_trusted()} || !({pinned})": PINNED,
            # What the accountant may change of them, its own policy says.
            f"!({updating}) || {by_trusted()} || {by(ACCOUNTANT_USER)} || !{part} || {kept}": MADE,
            f"!({updating}) || {by_trusted()} || {part} || !({runs}) || {_frozen()}": FROZEN,
            # JobSet makes it anew, before it ends anything.
            f"!({deleting}) || {by_trusted()} || !{part}": MADE,
            f"!({updating}) || request.resource.resource != 'jobsets' || {claims}": NAMED_SERVICES,
            f"{deleting} || {_unplaced('object')} || {updating} && !{_unplaced('oldObject')}": PLACED,
            f"{deleting} || {few_keys} || {updating} && {templates} == {templates_of('oldObject')}": NAMED,
        },
    )


def pods_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses pods that bypass the queue, lets only Kueue remove its scheduling gates, and keeps
    pods with the controller that made them."""
    gated = f"object.spec.?schedulingGates.orValue([]).exists(g, g.name == '{GATE}')"
    gates = f"oldObject.spec.?schedulingGates.orValue([]).filter(g, g.name.startsWith('{KUEUES}'))"
    kept = f"{gates}.all(g, object.spec.?schedulingGates.orValue([]).exists(o, o.name == g.name))"
    finalizers = "{}.metadata.?finalizers.orValue([]).exists(f, f == '{}')"
    counted = " && ".join(
        f"{finalizers.format('object', name)} == {finalizers.format('oldObject', name)}" for name in POD_FINALIZERS
    )
    of_a_job = f"{owners('oldObject')}.exists(o, o.kind == 'Job')"
    return refusing(
        kind("", "pods", "CREATE", "UPDATE"),
        {
            owner_condition(): OWNED,
            f"!({CREATED}) || {by(JOBS)} || {gated}": PAST_THE_QUEUE,
            f"{CREATED} || {kept}": LIFTED,
            f"{CREATED} || {by_trusted()} || {counted} && (!{of_a_job} || {_same_labels()})": MADE,
        },
    )


def owners_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that keeps whoever makes pods from declaring a job as its owner: Kueue would let these pods run
    for as long as that job runs. Owners do not change."""
    return refusing(template_rules("CREATE", "UPDATE"), {owner_condition(): OWNED})


def _frozen() -> str:
    """Return the condition (CEL) that a change leaves a running Job or JobSet as it was, or smaller."""
    is_set = "request.resource.resource == 'jobsets'"
    fields = f"({is_set} ? {list(SET_FIELDS)} : {list(JOB_FIELDS)})"
    kept = (
        f"object.spec.all(k, k in {fields} || k in oldObject.spec && object.spec[k] == oldObject.spec[k])"
        f" && oldObject.spec.all(k, k in {fields} || k in object.spec)"
    )
    smaller = " && ".join(
        f"(oldObject.spec.?{field} == object.spec.?{field}"
        f" || object.spec.?{field}.orValue({none}) <= oldObject.spec.?{field}.orValue({none}))"
        for field, none in (("parallelism", 1), ("completions", 2147483647))
    )
    return f"{kept} && {smaller}"


def _unplaced(side: str) -> str:
    """Return the condition (CEL) that no template names a node: its pods would pass by the scheduler, and by taints and
    the accountant with it."""
    template = "{}.?template.?spec.?nodeName.hasValue()"
    roles = f"{side}.spec.?replicatedJobs.orValue([]).exists(r, {template.format('r.template.spec')})"
    return f"!({template.format(f'{side}.spec')} || {roles})"


def _same_labels() -> str:
    """Return the condition (CEL) that a part of a job keeps its labels, and the annotations of its controllers."""
    noted = " && ".join(unchanged("annotations", (), prefix=f"{domain}/") for domain in CONTROLLERS_DOMAINS)
    return f"{keys('object', 'labels')} == {keys('oldObject', 'labels')} && {noted}"
