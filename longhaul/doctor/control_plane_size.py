"""Checks of the control plane's size against the nodes that the file declares."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Finding, ok, warning
from components.model.control_plane.size import declared_nodes
from components.model.loading.cautions import small_control_plane
from longhaul.doctor.target import DoctorTarget


def size(target: DoctorTarget) -> Iterator[Finding]:
    """Check that there are enough API servers, and that they have enough memory for the declared nodes."""
    shortfalls = list(small_control_plane(target.environment))
    for shortfall in shortfalls:
        yield warning(shortfall.wrong, target.at(*shortfall.at), do=shortfall.write)
    if not shortfalls:
        nodes = declared_nodes(target.environment)
        yield ok(f"the API servers' size and number are enough for {nodes:,} nodes", target.at("control_plane", "api"))
