"""Volume claims of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIRST_CONSUMER = "WaitForFirstConsumer"
"""Binding mode of a storage class whose volumes are bound once the scheduler has chosen a node (kubernetes.io,
"Storage Classes", "Volume binding mode")."""


def claim_name(pod: Mapping[str, Any], volume: Mapping[str, Any]) -> str:
    """Return the name of the claim of a pod's volume; empty when the volume has none. The claim of a generic ephemeral
    volume is named after pod and volume (kubernetes.io, "Ephemeral Volumes")."""
    if named := volume.get("persistentVolumeClaim"):
        return str(named["claimName"])
    return f"{pod['metadata'].get('name', '')}-{volume['name']}" if volume.get("ephemeral") else ""
