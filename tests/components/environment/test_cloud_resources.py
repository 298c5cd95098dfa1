"""Components are found by a site's kind, and links to its sites need no more than an end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from clouds.registry import clouds
from components.aws.cloud_resources import AwsResources
from components.azure.links import AzureEnd, AzureLinked
from components.environment.cloud_resources import CloudResources, resources_of
from components.environment.links import LinkGateway, Links, LinksArgs, Remote, Tunnel, VaultTunnelKeys
from components.model import Environment, plan
from tests.support import production
from tests.support.declared import Outputs, declare

SITES = ("weu", "home")
HOLDS, DIALS = ("192.0.2.1", "192.0.2.2"), "192.0.2.9"


def test_every_cloud_declares() -> None:
    assert resources_of("aws") is AwsResources
    assert all(issubclass(resources_of(kind), CloudResources) for kind in clouds())


class Holding:
    """End of a site of some other cloud, with two gateways."""

    def __init__(self) -> None:
        self.held: list[tuple[str, str, str, list[str], list[Any]]] = []

    def gateways(self) -> Sequence[LinkGateway]:
        return [LinkGateway(name=f"gate{index}", addresses=[address]) for index, address in enumerate(HOLDS)]

    def hold(self, name: str, gateway: LinkGateway, far: str, tunnels: Sequence[Tunnel]) -> None:
        held = [tunnel.label for tunnel in tunnels]
        self.held.append((name, gateway.name, far, held, [tunnel.key for tunnel in tunnels]))


class Dialling:
    """End of a site of some other cloud, which gives address and key to each connection."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, str, list[str]]] = []

    def dial(
        self, name: str, far: str, remotes: Sequence[Remote], keys: Callable[[str], VaultTunnelKeys]
    ) -> Mapping[str, Sequence[Tunnel]]:
        assert keys("0").text == "key-of-tunnel-home-weu-0"
        self.dialled.append((name, far, [remote.label for remote in remotes]))
        return {remote.label: [Tunnel(label="0", address=DIALS, key=f"of {remote.label}")] for remote in remotes}


def linked(end: Holding | Dialling) -> dict[str, dict[str, Any]]:
    """Return Azure's connections, by name, to a site with this ``end``."""
    whole = production.production()
    racks = next(name for name, site in whole.sites.items() if site.kind == "onprem")
    sites = {"weu": whole.sites["weu"], "home": whole.sites[racks]}
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
                tunnel_keys=lambda secret, of_cloud=False: VaultTunnelKeys(text=f"key-of-{secret}"),
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


def test_an_end_that_dials_is_all_that_a_link_needs() -> None:
    end = Dialling()
    assert {name: inputs["gatewayIpAddress"] for name, inputs in linked(end).items()} == {
        "prod-links-weu-home-0-0-remote": DIALS,
    }
    assert end.dialled == [("prod-links-weu-home", "weu", ["0"])]
