"""Metrics of the accountant."""

from __future__ import annotations

from contract.metrics import Metric

LEADER = Metric("longhaul_accountant_leader", "Whether the process leads (1) or waits (0)")
LOOKS = Metric("longhaul_accountant_looks_total", "Comparisons of all teams that were completed")
LOOKS_FAILED = Metric(
    "longhaul_accountant_looks_failed_total",
    "Comparisons that were left out, because pods, jobs or queues could not be read; nothing is changed then",
)
LOOK_SECONDS = Metric("longhaul_accountant_look_seconds_total", "Duration of all completed comparisons")
PODS_BEYOND_QUEUE = Metric(
    "longhaul_accountant_pods_beyond_queue",
    "Pods of a team that run, or are free to be scheduled, and that its queue has not admitted, by reason",
    ("team", "reason"),
)
TEAM_HELD = Metric("longhaul_accountant_team_held", "Whether the team's namespace takes no new pods (1)", ("team",))
JOBS_ENDED = Metric(
    "longhaul_accountant_jobs_ended_total",
    "Jobs that Kueue had evicted and that ran on, until the accountant suspended them",
    ("team",),
)

METRICS = (LEADER, LOOKS, LOOKS_FAILED, LOOK_SECONDS, PODS_BEYOND_QUEUE, TEAM_HELD, JOBS_ENDED)
