"""The policy by which Kueue admits only what it has counted.

Kueue writes an admission without comparing versions, and starts a job that equals its workload's specification
(kueue 0.19, ``pkg/scheduler/scheduler.go``, ``WithLooseOnApply``; ``pkg/controller/jobframework/reconciler.go``,
``expectedRunningPodSets``). So a job that waits and grows between count and admission would run with its new size,
and be counted with its former one for as long as it runs. The condition that Kueue writes with an admission says which
version it has counted. Refused, Kueue counts the workload again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.objects.team_conditions import TEAMS, kind

if TYPE_CHECKING:
    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict

ADMISSIONS = "longhaul-team-admissions"
"""Name of the policy."""
STALE = "the workload has changed since it was counted"


def admissions_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy that refuses everybody an admission of another version of a workload than the stored one."""
    reserved = "c.type == 'QuotaReserved' && c.status == 'True'"
    counted = f"{reserved} && c.?observedGeneration.orValue(0) == oldObject.metadata.generation"
    admits = "has(object.status.admission) && object.status.?admission != oldObject.?status.?admission"
    return {
        "match_constraints": {
            "resource_rules": kind("kueue.x-k8s.io", "workloads/status", "UPDATE"),
            "namespace_selector": TEAMS,
        },
        "match_conditions": [{"name": "admits", "expression": admits}],
        "failure_policy": "Fail",
        "validations": [
            {
                "expression": f"object.status.?conditions.orValue([]).exists(c, {counted})",
                "message": STALE,
                "reason": "Forbidden",
            }
        ],
    }
