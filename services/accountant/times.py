"""Times of the accountant. Between the first look at which a pod is beyond its queue and the moment at which its
namespace is closed, :data:`CONFIRM_S` and at most one more look pass."""

from __future__ import annotations

from collections.abc import Mapping

from contract.grace_periods import TEAM_GRACE_S
from contract.reasons.accountant import BeyondReason

LOOK_S = 2.0
"""Time between two looks, seconds."""
CONFIRM_S = 4.0
"""Time for which a difference must last before it counts, seconds: at least two looks. Copies of pods and of workloads
follow the API separately, so for moments a new pod's workload may not have been received yet."""
EVICTED_S = 300.0
"""Time after an eviction in which all pods of the job must be told to end, seconds: as long as the deletion of 6,000
pods takes. It counts from the eviction, since a job that goes on replaces its pods. The grace period of a pod begins
when the pod is told."""
FINISHED_S = 60.0
"""Time that pods of a finished job have to be told to end, seconds: JobSet ends the remaining Jobs of a set that has
finished."""
COLLECTED_S = 300.0
"""Time that pods of a deleted job have to be told to end, seconds. Kubernetes' garbage collector deletes as many
objects a second as ``--kube-api-qps`` of kube-controller-manager says (its app/core.go doubles the rate, because each
deletion takes two requests), by default 20, so 6,000 pods."""
ENDING_S: Mapping[BeyondReason, float] = {
    BeyondReason.FINISHED: FINISHED_S,
    BeyondReason.UNCOLLECTED: COLLECTED_S,
}
"""Times for which a difference of these reasons must last before it counts, instead of :data:`CONFIRM_S`."""
PEAK_S = float(TEAM_GRACE_S)
"""Time for which a team's former usage excuses its ending pods, seconds: the longest time that a pod of a team may take
to end."""
