"""Metrics of the autoscaler."""

from __future__ import annotations

from contract.metrics import Metric

PASSES = Metric("longhaul_autoscaler_passes_total", "Passes that were completed")
PASSES_FAILED = Metric("longhaul_autoscaler_passes_failed_total", "Passes that ended with an error")
PASS_SECONDS = Metric("longhaul_autoscaler_pass_seconds_total", "Duration of all completed passes")
ACTIONS = Metric("longhaul_autoscaler_actions_total", "Decided actions, by verb and reason", ("verb", "reason"))
MACHINES_REQUESTED = Metric(
    "longhaul_autoscaler_machines_requested_total",
    "Machines by which groups of a pool were asked to grow, by reason",
    ("pool", "reason"),
)
MACHINES_ENDED = Metric(
    "longhaul_autoscaler_machines_ended_total", "Machines of a pool that were ended, by reason", ("pool", "reason")
)
CALLS_FAILED = Metric(
    "longhaul_autoscaler_calls_failed_total",
    "Calls to change a group of a pool that its cloud refused or did not answer, by verb",
    ("pool", "verb"),
)
PENDING_PODS = Metric(
    "longhaul_autoscaler_pending_pods", "Pods that wait for a node, by reason, as of the last pass", ("reason",)
)
POOLS_SKIPPED = Metric(
    "longhaul_autoscaler_pools_skipped",
    "Whether a pool is skipped at the moment (1), with the reason of its last failure",
    ("pool", "reason"),
)
GROUPS_UNREAD = Metric(
    "longhaul_autoscaler_groups_unread", "Groups that their cloud did not report, as of the last pass"
)
IDLE_NODES = Metric(
    "longhaul_autoscaler_idle_nodes",
    "Idle nodes that stay, by reason, as of the last pass",
    ("reason",),
)
HOLDS = Metric(
    "longhaul_autoscaler_holds",
    "Nodes and pools that are left alone although nodes should be removed, by reason, as of the last pass",
    ("reason",),
)
LEADER = Metric("longhaul_autoscaler_leader", "Whether the process leads (1) or waits (0)")

METRICS = (
    PASSES,
    PASSES_FAILED,
    PASS_SECONDS,
    ACTIONS,
    MACHINES_REQUESTED,
    MACHINES_ENDED,
    CALLS_FAILED,
    PENDING_PODS,
    POOLS_SKIPPED,
    GROUPS_UNREAD,
    IDLE_NODES,
    HOLDS,
    LEADER,
)
