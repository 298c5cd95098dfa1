"""Names of the leases in ``kube-system`` by which programs of ours keep out of each other's way."""

from __future__ import annotations

AUTOSCALER = "longhaul-autoscaler"
"""Lease of the autoscaler that leads. Its memory is a ConfigMap of the same name."""
ROLLS = "longhaul-roll-"
"""Prefix of the leases of pools' rolls, before the pool's name on nodes."""
