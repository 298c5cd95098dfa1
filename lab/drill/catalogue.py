"""Drills by name, in the order in which they run. Each group of drills has the faults of one module."""

from __future__ import annotations

from collections.abc import Mapping

from lab.drill.drill import Drill
from lab.drill.faults import balancers, certificates, disks, links, load, partitions, power, services, slow_links

_GROUPS = (
    services.DRILLS,
    balancers.DRILLS,
    partitions.DRILLS,
    slow_links.DRILLS,
    power.DRILLS,
    load.DRILLS,
    disks.DRILLS,
    links.DRILLS,
    certificates.DRILLS,
)

DRILLS: Mapping[str, Drill] = {drill.name: drill for group in _GROUPS for drill in group}
