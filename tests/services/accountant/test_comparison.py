"""Pods beyond their queue: each way to be covered, each way not to be, and what is excused."""

from __future__ import annotations

from typing import Any

import pytest

from contract.grace_periods import TEAM_GRACE_S
from contract.reasons.accountant import BeyondReason
from services.accountant.api_objects import FOREGROUND, job_owner, nominal_quota, running_pod, workload
from services.accountant.comparison import EndingLimits, TeamState, compare
from services.accountant.times import PEAK_S

Item = dict[str, Any]
GPU = "nvidia.com/gpu"
EACH = {"cpu": "2", "memory": "4Gi", GPU: "1"}
ADMITTED = ("QuotaReserved", "Admitted")
LIMIT = {"cpu": 4000, GPU: 2}


def owner(kind: str, uid: str) -> Item:
    version = {"Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "name": uid, "uid": uid, "controller": True}


def metadata(name: str, *owners: Item, **more: Any) -> Item:
    made = f"2026-11-29T10:00:0{name[-1] if name[-1].isdigit() else 0}Z"
    return {"name": name, "uid": name, "creationTimestamp": made, "ownerReferences": list(owners), **more}


def pod(name: str, *owners: Item, requests: Item | None = None, spec: Item | None = None, **more: Any) -> Item:
    containers = [{"name": "a", "resources": {"requests": EACH if requests is None else requests}}]
    whole = {"containers": containers, "nodeName": "n", **(spec or {})}
    return {"metadata": metadata(name, *owners, **more), "spec": whole, "status": {"phase": "Running"}}


def admitted(*owners: str, pods: int = 2, conditions: tuple[str, ...] = ADMITTED, **more: Any) -> Item:
    usage = {"cpu": str(2 * pods), "memory": f"{4 * pods}Gi", GPU: str(pods)}
    assignment = {"name": "main", "count": pods, "resourceUsage": usage}
    return {
        "metadata": {"ownerReferences": [{"uid": uid} for uid in owners]},
        "spec": {"podSets": [{"name": "main", "count": pods}]},
        "status": {
            "conditions": [{"type": name, "status": "True"} for name in conditions],
            "admission": {"podSetAssignments": [assignment]},
            **more,
        },
    }


def state(
    pods: list[Item], workloads: list[Item], *, jobs: list[Item] | None = None, jobsets: list[Item] | None = None
) -> TeamState:
    known = [job_owner(item) for item in (jobs if jobs is not None else [{"metadata": metadata("job")}])]
    sets = [job_owner(item) for item in jobsets or ()]
    return TeamState(
        pods=[parsed for parsed in map(running_pod, pods) if parsed is not None],
        jobs={each.uid: each for each in known},
        jobsets={each.uid: each for each in sets},
        workloads=[workload(item) for item in workloads],
        nominal={},
    )


def beyond(*arguments: Any, **more: Any) -> dict[str, BeyondReason]:
    return {each.pod.name: each.reason for each in compare(state(*arguments, **more), limit=LIMIT)}


OF_JOB = owner("Job", "job")
OF_SET = [{"metadata": metadata("job", owner("JobSet", "set"))}]
SETS = [{"metadata": metadata("set")}]
TOLD: Item = {"deletionTimestamp": "2026-11-29T10:10:00Z"}


def test_pods_of_an_admitted_job_are_covered_and_no_more_of_them() -> None:
    pods = [pod("p3", OF_JOB), pod("p1", OF_JOB), pod("p2", OF_JOB)]
    assert beyond(pods[:2], [admitted("job")]) == {}
    assert beyond(pods, [admitted("job")]) == {"p3": BeyondReason.MORE_THAN_ADMITTED}


def test_pods_of_a_part_of_an_admitted_jobset_are_covered() -> None:
    pods = [pod("p1", OF_JOB), pod("p2", OF_JOB), pod("p3", OF_JOB)]
    covered = beyond(pods, [admitted("set")], jobs=OF_SET, jobsets=SETS)
    assert covered == {"p3": BeyondReason.MORE_THAN_ADMITTED}


def test_a_single_pod_is_covered_by_its_own_workload() -> None:
    assert beyond([pod("p1")], [admitted("p1", pods=1)]) == {}
    assert beyond([pod("p1"), pod("p2")], [admitted("p1", pods=1)]) == {"p2": BeyondReason.NOT_ADMITTED}


def test_pods_of_another_object_that_is_admitted_as_a_whole_are_covered() -> None:
    pods = [pod(f"p{index}", owner("StatefulSet", "set")) for index in (1, 2, 3)]
    assert beyond(pods, [admitted("set")]) == {"p3": BeyondReason.MORE_THAN_ADMITTED}


def test_pods_of_a_group_share_what_is_admitted_for_it() -> None:
    pods = [pod("p1"), pod("p2"), pod("p3")]
    assert beyond(pods, [admitted("p1", "p2", "p3")]) == {"p3": BeyondReason.MORE_THAN_ADMITTED}


@pytest.mark.parametrize(
    "larger",
    [
        {"requests": {**EACH, GPU: "2"}},
        {"spec": {"overhead": {"cpu": "100m"}}},
        {"spec": {"initContainers": [{"name": "i", "resources": {"requests": {**EACH, "memory": "5Gi"}}}]}},
        {"spec": {"resources": {"requests": {"cpu": "3"}}}},
        {"requests": {**EACH, "other.example/device": "1"}},
    ],
    ids=["containers", "overhead", "initialization", "whole pod", "not counted by the queue"],
)
def test_a_larger_pod_than_admitted_is_not_covered(larger: Item) -> None:
    assert beyond([pod("p1", OF_JOB, **larger)], [admitted("job", pods=1)]) == {"p1": BeyondReason.MORE_THAN_ADMITTED}


@pytest.mark.parametrize("none", [{}, {"cpu": "0", "memory": "0"}, {"cpu": "1"}, {"memory": "1Gi"}])
def test_a_pod_that_requests_nothing_is_counted_by_nobody(none: Item) -> None:
    assert beyond([pod("p1", OF_JOB, requests=none)], [admitted("job")]) == {"p1": BeyondReason.UNCOUNTED}


@pytest.mark.parametrize("conditions", [(), ("QuotaReserved",), ("Evicted",)])
def test_what_waits_covers_nothing(conditions: tuple[str, ...]) -> None:
    waits = admitted("job", conditions=conditions)
    assert beyond([pod("p1", OF_JOB)], [waits]) == {"p1": BeyondReason.NOT_ADMITTED}


def test_an_evicted_job_covers_its_pods_until_its_time_is_over() -> None:
    """Or until Kueue clears its admission. Pods that were told to end have their own time."""
    evicted = admitted("job", conditions=(*ADMITTED, "Evicted"))
    evicted["status"]["conditions"][-1]["lastTransitionTime"] = "2026-11-29T10:05:00Z"
    runs = state([pod("p1", OF_JOB), pod("p2", OF_JOB, **TOLD)], [evicted])
    assert list(compare(runs, limit=LIMIT, evicted_until="2026-11-29T10:04:59Z")) == []
    (late,) = compare(runs, limit=LIMIT, evicted_until="2026-11-29T10:05:00Z")
    assert (late.pod.name, late.reason, late.is_evicted) == ("p1", BeyondReason.EVICTED, True)
    evicted["status"]["conditions"] = evicted["status"]["conditions"][-1:]
    (cleared,) = compare(state([pod("p1", OF_JOB)], [evicted]), limit=LIMIT)
    assert (cleared.reason, cleared.is_evicted) == (BeyondReason.NOT_ADMITTED, True)


def test_pods_of_a_finished_job_are_told_apart() -> None:
    finished = admitted("job", conditions=(*ADMITTED, "Finished"))
    assert beyond([pod("p1", OF_JOB)], [finished]) == {"p1": BeyondReason.FINISHED}
    again = [finished, admitted("job")]
    assert beyond([pod("p1", OF_JOB)], again) == {}


def test_what_kueue_has_taken_back_covers_nothing() -> None:
    pods = [pod("p1", OF_JOB), pod("p2", OF_JOB)]
    reclaimed = admitted("job", reclaimablePods=[{"name": "main", "count": 1}])
    assert beyond(pods, [reclaimed]) == {"p2": BeyondReason.MORE_THAN_ADMITTED}


@pytest.mark.parametrize(
    "away",
    [
        pod("p1", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}),
        {**pod("p1"), "status": {"phase": "Succeeded"}},
        {**pod("p1"), "status": {"phase": "Failed"}},
        pod("p1", spec={"nodeName": None}, **TOLD),
    ],
    ids=["gated", "succeeded", "failed", "deleted before it had a node"],
)
def test_what_neither_runs_nor_will_is_not_counted(away: Item) -> None:
    assert beyond([away], []) == {}


def test_a_free_pod_without_a_node_is_counted() -> None:
    assert beyond([pod("p1", spec={"nodeName": None})], []) == {"p1": BeyondReason.NOT_ADMITTED}


ENDING: dict[str, tuple[list[Item], dict[str, Any]]] = {
    "told to end": ([pod(f"p{index}", OF_JOB, **TOLD) for index in (1, 2, 3)], {}),
    "its job is gone": ([pod(f"p{index}", OF_JOB) for index in (1, 2, 3)], {"jobs": []}),
    "its jobset is gone": ([pod(f"p{index}", OF_JOB) for index in (1, 2, 3)], {"jobs": OF_SET}),
    "its job waits for its end": (
        [pod(f"p{index}", OF_JOB) for index in (1, 2, 3)],
        {"jobs": [{"metadata": metadata("job", finalizers=[FOREGROUND], **TOLD)}]},
    ),
}


@pytest.mark.parametrize("case", ENDING)
def test_ending_pods_are_excused_up_to_the_limit(case: str) -> None:
    pods, more = ENDING[case]
    # Whoever was not told to end is told so within a time that the reason has.
    excused = {} if case == "told to end" else dict.fromkeys(("p1", "p2"), BeyondReason.UNCOLLECTED)
    assert beyond(pods, [], **more) == {**excused, "p3": BeyondReason.TOO_MANY_ENDING}
    assert beyond(pods[:2], [], **more) == excused


def test_a_pod_is_not_excused_by_an_owner_whom_nobody_collects() -> None:
    foreign = {**owner("Job", "gone"), "apiVersion": "other.example/v1"}
    assert beyond([pod("p1", foreign)], []) == {"p1": BeyondReason.NOT_ADMITTED}


@pytest.mark.parametrize("finalizer", ["other.example/pin", "orphan"])
@pytest.mark.parametrize("conditions", [(), (*ADMITTED, "Finished")], ids=["waits", "finished"])
def test_a_deleted_job_that_leaves_its_pods_excuses_none(finalizer: str, conditions: tuple[str, ...]) -> None:
    pinned = metadata("job", finalizers=[finalizer], **TOLD)
    frees = [admitted("job", conditions=conditions)]
    assert beyond([pod("p1", OF_JOB)], frees, jobs=[{"metadata": pinned}]) == {"p1": BeyondReason.NOT_ADMITTED}
    frees, sets = [admitted("set", conditions=conditions)], [{"metadata": {**pinned, "uid": "set"}}]
    assert beyond([pod("p1", OF_JOB)], frees, jobs=OF_SET, jobsets=sets) == {"p1": BeyondReason.NOT_ADMITTED}


def test_pods_of_finished_jobs_are_excused_up_to_the_limit() -> None:
    pods = [pod("p1", OF_JOB), pod("p2", OF_JOB), pod("p3", OF_JOB)]
    covered = beyond(pods, [admitted("job", conditions=(*ADMITTED, "Finished"))])
    assert covered == {**dict.fromkeys(("p1", "p2"), BeyondReason.FINISHED), "p3": BeyondReason.TOO_MANY_ENDING}


@pytest.mark.parametrize(("grace", "expected"), [(TEAM_GRACE_S, {}), (TEAM_GRACE_S + 1, BeyondReason.NOT_ADMITTED)])
def test_a_pod_that_may_end_later_than_any_of_a_team_is_not_excused(grace: int, expected: object) -> None:
    late = pod("p1", OF_JOB, **TOLD, deletionGracePeriodSeconds=grace)
    assert beyond([late], []) == (expected and {"p1": expected})


def test_ending_pods_take_nothing_from_those_that_replace_them() -> None:
    pods = [pod("p1", OF_JOB, **TOLD), pod("p2", OF_JOB, **TOLD), pod("p3", OF_JOB), pod("p4", OF_JOB)]
    assert beyond(pods, [admitted("job")]) == {}


def test_ending_pods_may_use_what_was_admitted_within_the_last_ten_minutes() -> None:
    limits, full, empty = EndingLimits(), state([], [admitted("job", pods=4)]), state([], [])
    assert limits.limit("visual", full, now=0.0)[GPU] == 4
    assert limits.limit("visual", empty, now=PEAK_S - 1)[GPU] == 4
    assert limits.limit("visual", empty, now=PEAK_S + 1)[GPU] == 4
    assert limits.limit("visual", empty, now=2 * PEAK_S + 2).get(GPU, 0) == 0
    assert limits.limit("speech", empty, now=0.0) == {}


def test_what_ends_when_a_process_begins_to_lead_was_admitted_before() -> None:
    pods = [pod(f"p{index}", OF_JOB, **TOLD) for index in (1, 2, 3)]
    assert EndingLimits().limit("visual", state(pods, []), now=0.0)[GPU] == 3


def test_the_guarantee_of_a_queue_is_the_sum_of_its_kinds() -> None:
    flavors = [{"name": name, "resources": [{"name": GPU, "nominalQuota": 2, "borrowingLimit": 9}]} for name in "ab"]
    assert nominal_quota({"spec": {"resourceGroups": [{"flavors": flavors}]}}) == {GPU: 4}
