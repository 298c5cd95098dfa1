"""Scenarios that :mod:`tests.lab.providers.test_upgrade_engine` runs in namespaces of its own, as
:mod:`tests.lab.providers.scenarios` does: the links of 0.1.0 brought to today's by the steps of docs/upgrading.md, in
clouds that take their time."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.cloud.aws import hosts
from lab.cloud.delays import Delays
from tests.lab.cloud.aws.site import REGIONS, client
from tests.lab.cloud.conftest import SUBSCRIPTION, Live
from tests.lab.providers.scenarios import NAMES, Engine, clouds
from tests.lab.providers.slow_scenarios import FACTOR

GROUPS = f"/subscriptions/{SUBSCRIPTION}/resourcegroups"
FORM = "        vpn: {active_active: true}\n"
"""Line of an environment's file that keeps the form of 0.1.0."""


class UpgradeEngine(Engine):
    """The same engine with two clouds and racks."""

    def __init__(self, folder: Path, live: Live) -> None:
        super().__init__(folder, live)
        shutil.rmtree(self.folder)
        shutil.copytree(Path(__file__).parent / "upgrade_program", self.folder)

    def take_today_s_form(self) -> None:
        """Take the old form out of the environment's file."""
        path = self.folder / "environment" / "Pulumi.old.yaml"
        text = path.read_text(encoding="utf-8")
        assert FORM in text
        path.write_text(text.replace(FORM, ""), encoding="utf-8")

    def counted(self) -> dict[str, int]:
        """Return how many there are of each part of the links."""
        found: list[dict[str, Any]] = self.live.arm("GET", f"{GROUPS}/old-weu/resources").json()["value"]
        kinds = [one["type"].rpartition("/")[2] for one in found]
        ec2 = client("ec2")
        held = [one for one in ec2.describe_vpn_connections()["VpnConnections"] if one["State"] != "deleted"]
        ends = [one for one in ec2.describe_customer_gateways()["CustomerGateways"] if one["State"] != "deleted"]
        counted = {kind: kinds.count(kind) for kind in ("connections", "localNetworkGateways")}
        addresses = [one for one in found if one["type"].endswith("publicIPAddresses") and "links" in one["name"]]
        return {**counted, "addresses": len(addresses), "in AWS": len(held), "ends in AWS": len(ends)}


def life(engine: UpgradeEngine) -> None:
    """Make the form of 0.1.0, bring it to today's one connection at a time, find it unchanged, and delete it."""
    engine.up()
    # From each of Azure's two instances to each of AWS's two tunnels, and to each gateway of the racks.
    before = {"connections": 6, "localNetworkGateways": 6, "addresses": 2, "in AWS": 4, "ends in AWS": 4}
    assert engine.counted() == before
    gateway = _gateway(engine)
    assert gateway["properties"]["activeActive"] is True
    engine.take_today_s_form()
    preview = engine.run("preview")
    assert "replace" not in preview
    assert engine.counted() == before, "a preview must not change anything"
    done = engine.up("--parallel", "1")
    assert "replaced" not in done
    _is_today_s(engine)
    assert _gateway(engine)["id"] == gateway["id"]
    engine.run("preview", "--expect-no-changes")
    engine.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    engine.run("destroy", "--yes", "--skip-preview")
    assert engine.live.arm("GET", GROUPS).json()["value"] == []
    ec2 = client("ec2")
    assert {one["State"] for one in ec2.describe_vpn_connections()["VpnConnections"]} <= {"deleted"}
    assert {one["State"] for one in ec2.describe_customer_gateways()["CustomerGateways"]} <= {"deleted"}


def _gateway(engine: UpgradeEngine) -> dict[str, Any]:
    path = f"{GROUPS}/old-weu/providers/Microsoft.Network/virtualNetworkGateways"
    (found,) = engine.live.arm("GET", path).json()["value"]
    return dict(found)


def _is_today_s(engine: UpgradeEngine) -> None:
    """Check that one instance and one connection a site are left, and nothing of the others."""
    counted = engine.counted()
    assert counted == {"connections": 2, "localNetworkGateways": 2, "addresses": 1, "in AWS": 3, "ends in AWS": 3}
    properties = _gateway(engine)["properties"]
    assert (properties["activeActive"], len(properties["ipConfigurations"])) == (False, 1)
    azure = next(one for one in engine.live.hypervisor.world.gateways if "virtualnetworkgateways" in one.id)
    assert len(azure.tunnels) == 2


SCENARIOS: dict[str, Callable[[UpgradeEngine], Any]] = {scenario.__name__: scenario for scenario in (life,)}


def main(name: str, folder: Path) -> None:
    with clouds(folder, (*NAMES, *hosts.names(REGIONS)), regions=REGIONS, delays=Delays(FACTOR)) as live:
        os.environ.update(live.cloud.operator_environment())
        SCENARIOS[name](UpgradeEngine(folder, live))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
