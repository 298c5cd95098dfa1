"""Scenarios that :mod:`tests.lab.providers.test_slow_engine` runs in namespaces of its own, as
:mod:`tests.lab.providers.scenarios` does: production's networks and links in a cloud that takes its time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.cloud.azure.changes import DURATIONS_S
from lab.cloud.azure.schema import virtual_network_gateway
from lab.cloud.delays import Delays
from tests.lab.cloud.conftest import SUBSCRIPTION
from tests.lab.providers.scenarios import NAMES, Engine, clouds

FACTOR = 5.0 / DURATIONS_S[virtual_network_gateway.TYPE]
"""Factor by which a gateway takes five seconds, and everything else its share of them."""


class SlowEngine(Engine):
    """The same engine with two networks, a peering, two gateways and their connections."""

    program = "slow_program"


def life(engine: SlowEngine) -> None:
    """Make everything and delete it: Azure is never asked for what it refuses meanwhile, and nothing is asked twice."""
    engine.up()
    engine.run("preview", "--expect-no-changes")
    world = engine.live.hypervisor.world
    assert len(world.peerings) == 1
    assert len(world.gateways) == 2
    for gateway in world.gateways:
        assert {str(tunnel.remote) for tunnel in gateway.tunnels} == {"198.51.100.20", "198.51.100.21"}
    engine.run("destroy", "--yes", "--skip-preview")
    assert engine.live.arm("GET", f"/subscriptions/{SUBSCRIPTION}/resourcegroups").json()["value"] == []


SCENARIOS: dict[str, Callable[[SlowEngine], Any]] = {scenario.__name__: scenario for scenario in (life,)}


def main(name: str, folder: Path) -> None:
    with clouds(folder, NAMES, delays=Delays(FACTOR)) as live:
        os.environ.update(live.cloud.operator_environment())
        SCENARIOS[name](SlowEngine(folder, live))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
