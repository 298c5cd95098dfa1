"""Ends of jobs that Kueue has evicted and that run on.

JobSet's controller suspends the Jobs of a JobSet at the end of its pass, which ends before that when anything fails: a
Service, a volume claim or a Job that cannot be made, because the quota is full, its name is taken or it is invalid
(jobset 0.12, ``pkg/controllers/jobset_controller.go``, ``reconcile``). Kueue gives the quota back once the JobSet's
status counts no Job that is active (kueue 0.19, ``pkg/controller/jobframework/reconciler.go``, "handle eviction"), and
JobSet writes that status after the same pass. So the accountant writes both: it suspends the Jobs, and sets the numbers
to zero. Where JobSet works, it counts anew.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from services.accountant.comparison import BeyondPod, JobOwner, TeamState

log = logging.getLogger(__name__)

JOBS, JOBSETS = "/apis/batch/v1", "/apis/jobset.x-k8s.io/v1alpha2"


def end_evicted_jobs(api: Api, team: str, state: TeamState, lasting: Iterable[BeyondPod]) -> list[JobOwner]:
    """Suspend the Jobs of evicted workloads whose pods are ``lasting``, and return these Jobs. What the API refuses is
    tried again at the next look."""
    jobs = {beyond.pod.job for beyond in lasting if beyond.is_evicted}
    ended = []
    for job in (state.jobs[uid] for uid in sorted(jobs) if uid in state.jobs):
        try:
            if parent := state.jobsets.get(job.parent):
                _count_no_active_jobs(api, team, parent)
            change = {"metadata": {"uid": job.uid}, "spec": {"suspend": True}}
            api.patch(JOBS + path_of("namespaces", team, "jobs", job.name), change)
        except ApiError as error:
            log.warning("%s: job %s is not suspended: %s; trying again", team, job.name, error)
        else:
            ended.append(job)
    return ended


def _count_no_active_jobs(api: Api, team: str, jobset: JobOwner) -> None:
    """Set the numbers of active Jobs in a JobSet's status to zero, so that Kueue gives its quota back."""
    path = JOBSETS + path_of("namespaces", team, "jobsets", jobset.name)
    item = api.get(path)
    statuses: list[Object] = (item.get("status") or {}).get("replicatedJobsStatus") or []
    if item["metadata"]["uid"] != jobset.uid or not any(status.get("active") for status in statuses):
        return
    change = {
        "metadata": {"uid": jobset.uid, "resourceVersion": item["metadata"]["resourceVersion"]},
        "status": {"replicatedJobsStatus": [{**status, "active": 0} for status in statuses]},
    }
    api.patch(f"{path}/status", change)
