"""Metrics of the autoscaler."""

from __future__ import annotations

from contract.metrics import Metric

PASSES = Metric("longhaul_autoscaler_passes_total", "Passes that were made to their end")
PASSES_FAILED = Metric("longhaul_autoscaler_passes_failed_total", "Passes that an error ended")
PASS_SECONDS = Metric("longhaul_autoscaler_pass_seconds_total", "Time of all passes that were made to their end")
ACTIONS = Metric("longhaul_autoscaler_actions_total", "Decided actions by what is done", ("verb",))
MACHINES_REQUESTED = Metric(
    "longhaul_autoscaler_machines_requested_total",
    "Machines by which groups of a pool were asked to grow",
    ("pool",),
)
CALLS_FAILED = Metric(
    "longhaul_autoscaler_calls_failed_total",
    "Calls to change a group of a pool that its cloud refused or did not answer",
    ("pool",),
)
PENDING_PODS = Metric("longhaul_autoscaler_pending_pods", "Pods that wait for a node, as of the last pass")
GROUPS_UNREAD = Metric("longhaul_autoscaler_groups_unread", "Groups of which a cloud did not tell, as of the last pass")
HOLDS = Metric("longhaul_autoscaler_holds", "What is kept that would otherwise go, as of the last pass")
LEADER = Metric("longhaul_autoscaler_leader", "1 for the process that leads, 0 for one that waits")

METRICS = (
    PASSES,
    PASSES_FAILED,
    PASS_SECONDS,
    ACTIONS,
    MACHINES_REQUESTED,
    CALLS_FAILED,
    PENDING_PODS,
    GROUPS_UNREAD,
    HOLDS,
    LEADER,
)
