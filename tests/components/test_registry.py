"""Components are found by a site's kind. A package can add one, and links to its sites need nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clouds.azure.site import AzureVpnForm
from clouds.registry import clouds
from components.aws.cloud import AwsCloud
from components.azure.links import AzureEnd, AzureLinked
from components.links import Gateway, Keys, Links, LinksArgs, Remote, Tunnel
from components.model import Environment, plan
from components.registry import OWN, resources_of
from tests.support import production
from tests.support.declared import Outputs, declare
from tests.support.project import REPOSITORY

SITES = ("weu", "home")
HOLDS, DIALS = ("192.0.2.1", "192.0.2.2"), "192.0.2.9"


def test_every_cloud_of_our_own_declares() -> None:
    assert {kind for kind in clouds() if kind in OWN} == set(OWN) == {"azure", "aws", "onprem"}
    assert resources_of("aws") is AwsCloud


def test_an_installed_package_declares_its_own_sites(tmp_path: Path) -> None:
    (tmp_path / "shed.py").write_text("class Shed:\n    pass\n", encoding="utf-8")
    info = tmp_path / "shed-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shed\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[longhaul.components]\nshed = shed:Shed\n", encoding="utf-8")
    code = "from components.registry import resources_of; print(resources_of('shed').__name__)"
    environ = {"PYTHONPATH": f"{REPOSITORY}:{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["Shed"], done.stderr


def test_nothing_declares_what_nobody_brought() -> None:
    with pytest.raises(LookupError, match="sites of kind shed"):
        resources_of("shed")


class Holding:
    """End of a site of some other cloud, with two gateways."""

    def __init__(self) -> None:
        self.held: list[tuple[str, str, str, list[str], list[Any]]] = []

    def gateways(self) -> Sequence[Gateway]:
        return [Gateway(name=f"gate{index}", addresses=[address]) for index, address in enumerate(HOLDS)]

    def hold(self, name: str, gateway: Gateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        held = [tunnel.label for tunnel in tunnels]
        self.held.append((name, gateway.name, far, held, [tunnel.key for tunnel in tunnels]))


class Dialling:
    """End of a site of some other cloud, which gives address and key to each connection."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, str, list[str]]] = []

    def dial(
        self, name: str, far: str, remotes: Sequence[Remote], keys: Callable[[str], Keys]
    ) -> Mapping[str, Sequence[Tunnel]]:
        assert keys("0").text == "key-of-tunnel-home-weu-0"
        self.dialled.append((name, far, [remote.label for remote in remotes]))
        return {remote.label: [Tunnel(label="0", address=DIALS, key=f"of {remote.label}")] for remote in remotes}


def linked(end: Holding | Dialling, *, active_active: bool = False) -> dict[str, dict[str, Any]]:
    """Return Azure's connections, by name, to a site with this ``end``."""
    whole = production.production()
    racks = next(name for name, site in whole.sites.items() if site.kind == "onprem")
    weu = whole.sites["weu"].model_copy(update={"vpn": AzureVpnForm(active_active=active_active)})
    sites = {"weu": weu, "home": whole.sites[racks]}
    pools = {name: pool for name, pool in whole.pools.items() if pool.site == "weu"}
    environment: Environment = whole.model_copy(update={"sites": sites, "pools": pools, "links": ()})
    azure = AzureLinked(
        region="westeurope", zones=["1"], resource_group="weu", network_id="weu-id", network_name="weu-network"
    )

    def build() -> Outputs:
        links = Links(
            "prod-links",
            LinksArgs(
                environment=environment,
                addresses=plan(environment),
                ends={"weu": partial(AzureEnd, azure), "home": lambda _: end},
                tunnel_keys=lambda secret, of_cloud=False: Keys(text=f"key-of-{secret}"),
            ),
        )
        return dict(links.onprem_tunnels)

    found = declare(build, answer=production.cloud)
    assert found.outputs == {}
    remotes = found.of("azure-native:network:LocalNetworkGateway")
    return {remote.name: remote.inputs for remote in remotes}


def test_an_end_that_holds_is_all_that_a_link_needs() -> None:
    end = Holding()
    assert {name: inputs["gatewayIpAddress"] for name, inputs in linked(end).items()} == {
        "prod-links-weu-home-gate0-remote": HOLDS[0],
    }
    assert [held[:4] for held in end.held] == [("prod-links-weu-home", "gate0", "weu", ["0"])]


def test_two_active_instances_share_a_key_for_each_gateway() -> None:
    end = Holding()
    assert {name: inputs["gatewayIpAddress"] for name, inputs in linked(end, active_active=True).items()} == {
        "prod-links-weu-home-gate0-remote": HOLDS[0],
        "prod-links-weu-home-gate1-remote": HOLDS[1],
    }
    assert [held[:4] for held in end.held] == [
        ("prod-links-weu-home", "gate0", "weu", ["0", "1"]),
        ("prod-links-weu-home", "gate1", "weu", ["0", "1"]),
    ]
    assert all(first is second for *_, (first, second) in end.held), "Azure has one key for both of its addresses"


def test_an_end_that_dials_is_all_that_a_link_needs() -> None:
    end = Dialling()
    assert {name: inputs["gatewayIpAddress"] for name, inputs in linked(end).items()} == {
        "prod-links-weu-home-0-0-remote": DIALS,
    }
    assert end.dialled == [("prod-links-weu-home", "weu", ["0"])]
