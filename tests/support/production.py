"""Everything of production except the Azure control plane, declared without an engine."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pulumi
from pulumi import ResourceOptions

from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from clouds.onprem.site import OnpremSite
from components.aws import account
from components.aws.links import AwsEnd, AwsLinked
from components.aws.worker_site import AwsWorkerSite, AwsWorkerSiteArgs
from components.azure.links import AzureEnd, AzureLinked
from components.azure.pools import AzurePool, AzurePoolArgs
from components.environment.links import End, EndContext, Links, LinksArgs, VaultTunnelKeys
from components.model import Environment, load, plan
from components.model.sites.cloud_names import pool_groups
from components.onprem.links import OnpremEnd
from tests.support.declared import Declared, Outputs, Program, declare
from tests.support.hosts import EXAMPLES

KEY = "never-in-plain"
"""Part of every pre-shared key here."""

OF_CLOUD = ""
"""The vault's keys of a tunnel whose first key a cloud makes."""


@cache
def production() -> Environment:
    """Return the environment as it is in the tree."""
    return load(EXAMPLES / "Pulumi.prod.yaml")


@cache
def production_program() -> Program:
    """Return the declared program; declared once for all tests, since it takes seconds."""
    return declare(lambda: build(production()), answer=cloud)


def cloud(resource: Declared) -> dict[str, Any]:
    """Return a cloud's outputs: addresses, names, keys."""
    match resource.type:
        case "aws:ec2/vpnConnection:VpnConnection":
            name = resource.name
            return {
                "tunnel1Address": f"{name}-outside-1",
                "tunnel2Address": f"{name}-outside-2",
                "tunnel1PresharedKey": f"{KEY}-{name}-1",
                "tunnel2PresharedKey": f"{KEY}-{name}-2",
            }
        case "azure-native:network:PublicIPAddress":
            return {"ipAddress": f"{resource.name}-public"}
        case "aws:ec2/launchTemplate:LaunchTemplate":
            return {"latestVersion": 1}
        case "aws:ec2/eip:Eip":
            return {"allocationId": f"{resource.name}-allocation", "publicIp": f"{resource.name}-public"}
        case "aws:iam/instanceProfile:InstanceProfile" | "aws:iam/role:Role" | "aws:autoscaling/group:Group":
            return {"arn": f"{resource.name}-arn"}
    return {}


def build(environment: Environment) -> Outputs:
    """Declare everything except the Azure control plane."""
    addresses = plan(environment)
    provider = account.account_provider(environment)
    with_account = ResourceOptions(providers=[provider] if provider else None)
    aws = {
        name: AwsWorkerSite(
            f"{environment.name}-{name}",
            AwsWorkerSiteArgs(environment=environment, addresses=addresses, site_name=name),
            opts=with_account,
        )
        for name, site in environment.sites.items()
        if isinstance(site, AwsSite)
    }
    for site in aws.values():
        site.make_pools(lambda pool, group=None: pulumi.Output.from_input(f"of {pool}"))
    for name, pool in environment.pools.items():
        if isinstance(environment.sites[pool.site], AzureSite):
            azure_pool(environment, name)
    links = Links(
        f"{environment.name}-links",
        LinksArgs(
            environment=environment,
            addresses=addresses,
            ends={name: partial(_end, aws.get(name)) for name in environment.sites},
            tunnel_keys=lambda secret, of_cloud=False: VaultTunnelKeys(
                text=OF_CLOUD if of_cloud else f"{KEY}-{secret}"
            ),
        ),
        opts=with_account,
    )
    return {"tunnels": pulumi.Output.all(**links.onprem_tunnels)}


def _end(made: AwsWorkerSite | None, place: EndContext) -> End:
    site = place.environment.sites[place.site]
    if made is not None:
        network = made.network
        linked = AwsLinked(region=site.region, vpc_id=network.vpc_id, route_table_ids=network.route_table_ids)
        return AwsEnd(linked, place)
    if isinstance(site, OnpremSite):
        return OnpremEnd(site, place)
    name = place.site
    azure = AzureLinked(
        region=site.region,
        zones=site.zones,
        resource_group=name,
        network_id=f"{name}-network-id",
        network_name=f"{name}-network",
    )
    return AzureEnd(azure, place)


def azure_pool(environment: Environment, name: str, **more: Any) -> AzurePool:
    return AzurePool(
        f"{environment.name}-{name}",
        AzurePoolArgs(
            environment=environment,
            pool_name=name,
            resource_group="group",
            subnet_id="subnet",
            custom_data={group.name: f"of {name}" for group in pool_groups(environment, name)},
            tags={},
            **more,
        ),
    )
