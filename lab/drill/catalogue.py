"""Drills by name, in the order in which they run: by group, each group in the module of its faults."""

from __future__ import annotations

from collections.abc import Mapping

from lab.drill.drill import Drill
from lab.drill.faults import certificates, links, partitions, services

_GROUPS = (
    services.DRILLS,
    partitions.DRILLS,
    links.DRILLS,
    certificates.DRILLS,
)

DRILLS: Mapping[str, Drill] = {drill.name: drill for group in _GROUPS for drill in group}
