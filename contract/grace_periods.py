"""Times that pods may take to end."""

from __future__ import annotations

TEAM_GRACE_S = 600
"""Longest time that a team's pod may take to end, seconds. Kueue frees the pod's quota as soon as the pod is told to
end, but the node becomes free only when the pod has ended."""
