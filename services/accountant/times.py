"""Times of the accountant. Between the first look at which a pod is beyond its queue and the moment at which its
namespace is closed, :data:`CONFIRM_S` and at most one more look pass."""

from __future__ import annotations

from contract.grace_periods import TEAM_GRACE_S

LOOK_S = 2.0
"""Time between two looks, seconds."""
CONFIRM_S = 4.0
"""Time for which a difference must last before it counts, seconds: at least two looks. Copies of pods and of workloads
follow the API separately, so for moments a new pod's workload may not have been received yet."""
FINISHED_S = 60.0
"""Time that pods of a finished job have to be told to end, seconds: JobSet ends the remaining Jobs of a set that has
finished."""
PEAK_S = float(TEAM_GRACE_S)
"""Time for which a team's former usage excuses its ending pods, seconds: the longest time that a pod of a team may take
to end."""
