"""The networks of two sites on Azure and their links, also to two rooms of racks, declared with production's
components."""

from functools import partial
from pathlib import Path

from clouds.onprem.site import OnpremSite
from components.azure.account import azure_site
from components.azure.links import AzureEnd, AzureLinked
from components.azure.network import SiteNetwork, SiteNetworkArgs
from components.environment.links import End, EndContext, Links, LinksArgs, VaultTunnelKeys
from components.model import plan
from components.model.loading.load import load
from components.onprem.links import OnpremEnd

environment = load(Path(__file__).parent / "environment" / "Pulumi.slow.yaml")
addresses = plan(environment)


def end(network: SiteNetwork, place: EndContext) -> End:
    site = azure_site(environment, place.site)
    linked = AzureLinked(
        region=site.region,
        zones=site.zones,
        resource_group=network.resource_group,
        network_id=network.network_id,
        network_name=network.network_name,
        network_group=network.network_group,
        after=[network],
    )
    return AzureEnd(linked, place)


networks = {
    name: SiteNetwork(
        f"slow-{name}",
        SiteNetworkArgs(environment=environment, addresses=addresses, site=name, control_plane=name == "weu"),
    )
    for name in ("weu", "neu")
}
racks = {name: site for name, site in environment.sites.items() if isinstance(site, OnpremSite)}
Links(
    "slow-links",
    LinksArgs(
        environment=environment,
        addresses=addresses,
        ends={name: partial(OnpremEnd, site) for name, site in racks.items()}
        | {name: partial(end, made) for name, made in networks.items()},
        tunnel_keys=lambda secret, of_cloud=False: VaultTunnelKeys(text="correct_horse_battery_staple"),
    ),
)
