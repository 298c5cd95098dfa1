"""Metrics of the node controller."""

from __future__ import annotations

from contract.metrics import Metric

LEADER = Metric("longhaul_node_controller_leader", "Whether the process leads (1) or waits (0)")
MACHINES = Metric("longhaul_node_controller_machines", "Machines of a site that are there, as last listed", ("site",))
LISTING_AGE = Metric(
    "longhaul_node_controller_listing_age_seconds", "Time since the last complete list of a site began", ("site",)
)
REQUESTS_GRANTED = Metric(
    "longhaul_node_controller_requests_granted_total",
    "Certificate requests that were approved, by signer and by whether their machine joins",
    ("signer", "joining"),
)
REQUESTS_REFUSED = Metric(
    "longhaul_node_controller_requests_refused_total", "Certificate requests that were denied, by reason", ("reason",)
)
REQUESTS_SURPLUS = Metric(
    "longhaul_node_controller_requests_surplus_total",
    "Certificate requests that were deleted because their node has too many newer ones",
)
NODES_REMOVED = Metric("longhaul_node_controller_nodes_removed_total", "Nodes deleted because their machine is gone")
LABELS_CORRECTED = Metric(
    "longhaul_node_controller_labels_corrected_total", "Nodes that registered with labels that were corrected"
)
INTERRUPTIONS = Metric(
    "longhaul_node_controller_interruptions_total", "Nodes closed because their cloud takes their machine back"
)
GPU_TAINTS = Metric(
    "longhaul_node_controller_gpu_taints_total",
    "Changes of the taint of nodes whose GPUs have not passed their test, by what was done",
    ("change",),
)
GPU_NODES = Metric("longhaul_node_controller_gpu_nodes", "Nodes with GPUs, by whether they take pods", ("state",))

METRICS = (
    LEADER,
    MACHINES,
    LISTING_AGE,
    REQUESTS_GRANTED,
    REQUESTS_REFUSED,
    REQUESTS_SURPLUS,
    NODES_REMOVED,
    LABELS_CORRECTED,
    INTERRUPTIONS,
    GPU_TAINTS,
    GPU_NODES,
)
