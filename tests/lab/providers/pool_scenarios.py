"""Scenarios that :mod:`tests.lab.providers.test_pool_engine` runs in namespaces of its own, as
:mod:`tests.lab.providers.scenarios` does: a pool on Azure whose size is changed outside the program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from lab.cloud.azure.quota_and_capacity_errors import set_limit
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import IMAGE, SUBSCRIPTION, Live
from tests.lab.providers.scenarios import NAMES, Engine, clouds, kill_while_made
from tests.support.project import REPOSITORY

HERE = Path(__file__).parent
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/pools-weu"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/net"
SET = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/pools-gpu"
SIZE = "Standard_D8s_v5"


class PoolEngine(Engine):
    """The same engine with a pool, and a network that was there before."""

    program = "pool_program"

    def __init__(self, folder: Path, live: Live) -> None:
        super().__init__(folder, live)
        (self.folder / "environment").mkdir()
        live.put(GROUP, estate.WHERE)
        live.put(NETWORK, estate.network("10.64.0.0/16"))
        live.put(f"{NETWORK}/subnets/nodes", estate.subnet("10.64.0.0/22"))
        self.set("subnet", f"{NETWORK}/subnets/nodes")
        self._write_environment()

    def _write_environment(self) -> None:
        raw = yaml.safe_load((REPOSITORY / "stacks" / "Pulumi.lab.yaml").read_text(encoding="utf-8"))
        environment = raw["config"]["longhaul:environment"]
        environment["sites"]["weu"]["image"] = IMAGE
        environment |= {"name": "pools", "domain": "pools.longhaul.internal"}
        environment["sites"] = {"weu": environment["sites"]["weu"]}
        environment["pools"] = {"gpu": {"site": "weu", "machine_type": SIZE, "min": 1, "max": 10}}
        del environment["bare_metal"]
        path = self.folder / "environment" / "Pulumi.pools.yaml"
        path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")

    def scale(self, count: int) -> None:
        """Set the pool's size as an autoscaler does."""
        self.live.wait(self.live.arm("PATCH", SET, {"sku": {"name": SIZE, "tier": "Standard", "capacity": count}}))

    @property
    def size(self) -> tuple[int, int]:
        """Capacity, and number of machines that there are."""
        capacity = self.live.arm("GET", SET).json()["sku"]["capacity"]
        return capacity, len(self.live.hypervisor.world.machines)

    def tags(self) -> dict[str, Any]:
        return dict(self.live.arm("GET", SET).json()["tags"])


def life(engine: PoolEngine) -> None:
    """Make a pool, find it unchanged, change what is for new machines only, destroy it."""
    engine.up()
    assert engine.size == (1, 1)
    engine.run("preview", "--expect-no-changes")
    engine.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    first = engine.generations()
    engine.set("data", "two")
    assert "1 updated" in engine.up()
    (machine,) = engine.live.arm("GET", f"{SET}/virtualMachines").json()["value"]
    assert (machine["properties"]["latestModelApplied"], engine.generations()) == (False, first)
    engine.run("destroy", "--yes", "--skip-preview")
    assert engine.live.hypervisor.world.machines == ()


def scaled(engine: PoolEngine) -> None:
    """Change a tag of a pool that was scaled outside the program: no update makes it smaller."""
    engine.up()
    engine.scale(4)
    engine.run("preview", "--refresh", "--expect-no-changes")
    engine.set("team", "b")
    refused = engine.up("--refresh=false", fails=True)
    assert "pools-gpu stays as it is: it has 4 machines now, and this update would leave 1." in refused
    assert "run `longhaul up` again, which reads the clouds first, or `pulumi up --refresh`" in refused
    assert (engine.size, engine.tags()["team"]) == ((4, 4), "a")
    assert "1 updated" in engine.up("--refresh")
    assert (engine.size, engine.tags()["team"]) == ((4, 4), "b")
    engine.scale(2)
    engine.set("team", "c")
    assert "1 updated" in engine.up("--refresh")
    assert (engine.size, engine.tags()["team"]) == ((2, 2), "c")
    engine.live.wait(engine.live.arm("DELETE", SET))
    engine.set("team", "d")
    engine.up("--refresh")
    assert engine.tags()["team"] == "d", "one that somebody deleted is made anew"


def full(engine: PoolEngine) -> None:
    """A cloud without room fails the pool, which is in the state all the same; the next run finds it."""

    async def limited(count: int | None) -> None:
        set_limit(engine.live.cloud.store, SIZE, count, code="AllocationFailed")

    engine.live.call(limited(0))
    assert "AllocationFailed" in engine.up(fails=True)
    assert SET in engine.state()
    engine.live.call(limited(None))
    engine.live.wait(engine.live.arm("POST", f"{SET}/delete", {"instanceIds": ["0"]}))
    engine.scale(1)
    engine.up("--refresh")
    assert engine.size == (1, 1)


def killed(engine: PoolEngine) -> None:
    """Kill an engine in the middle of a set's creation: the next run takes over what is there, and makes no machine
    twice."""
    kill_while_made(engine, SET)
    first = engine.generations()
    engine.run("cancel", "--yes")
    assert "is adopted" in engine.up()
    assert (engine.size, engine.generations()) == ((1, 1), first)
    engine.run("preview", "--expect-no-changes")
    engine.run("destroy", "--yes", "--skip-preview")
    assert engine.live.hypervisor.world.machines == ()


SCENARIOS: dict[str, Callable[[PoolEngine], Any]] = {
    scenario.__name__: scenario for scenario in (life, scaled, full, killed)
}


def main(name: str, folder: Path) -> None:
    with clouds(folder, NAMES) as live:
        os.environ["REQUESTS_CA_BUNDLE"] = live.cloud.operator_environment()["REQUESTS_CA_BUNDLE"]
        SCENARIOS[name](PoolEngine(folder, live))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
