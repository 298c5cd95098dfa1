"""Names of the leases in ``kube-system`` by which programs of ours keep out of each other's way."""

from __future__ import annotations

ROLLS = "longhaul-roll-"
"""Prefix of the names of leases for pools' rolls; the pool's name on nodes follows."""
