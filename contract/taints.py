"""Taints of Nodes, by their keys, and complete taints that several sides write."""

from __future__ import annotations

from typing import Final

from contract.labels import INTERRUPTED, UNCHECKED

PREFLIGHT_TAINT = "longhaul.dev/preflight"
"""Key of the taint with which a node with GPUs registers. The node controller removes the taint once the GPUs have
passed their test."""
PREFLIGHT_VALUE = "pending"
PREFLIGHT_EFFECT: Final = "NoSchedule"
"""Never NoExecute, so that pods on the node continue to run."""
PREFLIGHT = {"key": PREFLIGHT_TAINT, "value": PREFLIGHT_VALUE, "effect": PREFLIGHT_EFFECT}

UNCHECKED_TAINT = {"key": UNCHECKED, "value": "true", "effect": "NoSchedule"}
INTERRUPTED_TAINT = {"key": INTERRUPTED, "value": "true", "effect": "NoExecute"}
"""kube-controller-manager deletes every pod that does not tolerate this taint."""
QUARANTINE_TAINT = {"key": "longhaul.dev/quarantine", "value": "true", "effect": "NoExecute"}
"""Taint of a machine in quarantine whose Node is about to be deleted. The taint evicts its pods and keeps new pods
away."""

SYSTEM_TAINT = "longhaul.dev/system"
"""Key of the taint of machines that are reserved for the cluster's own pods."""

SET_AND_LIFTED = frozenset({PREFLIGHT_TAINT, UNCHECKED, INTERRUPTED, QUARANTINE_TAINT["key"]})
"""Keys of the taints that Longhaul itself sets and lifts."""

CORDON = "node.kubernetes.io/unschedulable"
"""Key of the taint that a cordon adds (k8s.io/api/core/v1, ``TaintNodeUnschedulable``)."""
CUT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Keys of the taints of nodes that do not answer."""
STARTING = ("longhaul.dev/", "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of the keys of taints that mark a node as not yet, or no longer, fit for pods: Longhaul's taints, such as
the preflight of GPUs, and Kubernetes' own (kubernetes.io, "Well-known labels, annotations and taints"). Other taints
are somebody's choice for a healthy node."""
