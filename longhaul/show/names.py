"""What the clouds call the main things of an environment: to be seen before anything is made."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.names import node_role
from clouds.aws.site import AwsSite
from clouds.azure.existing import name_of
from clouds.azure.names import resource_group
from clouds.azure.site import AzureSite
from components.model import Environment
from components.model.groups import cloud_name, pool_groups
from components.model.places import place_of
from components.model.vault import vault_name
from longhaul.show.overview import CloudName


def cloud_names(environment: Environment) -> Iterator[CloudName]:
    """Site by site: groups and networks first, pools last."""
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite):
            yield from _azure(environment, name, site)
        elif isinstance(site, AwsSite):
            yield from _aws(environment, name, site)
        for pool, declared in environment.pools.items():
            if declared.site == name:
                what = "scale set" if isinstance(site, AzureSite) else "auto scaling group"
                for group in pool_groups(environment, pool):
                    yield CloudName(site=name, what=what, name=group.name, pool=pool)


def _azure(environment: Environment, name: str, site: AzureSite) -> Iterator[CloudName]:
    there = site.existing
    group = resource_group(place_of(environment, name))
    yield CloudName(site=name, what="resource group", name=group, existing=there.resource_group is not None)
    network = name_of(there.network) if there.network else cloud_name(environment, f"{environment.name}-{name}")
    yield CloudName(site=name, what="virtual network", name=network, existing=there.network is not None)
    if name == environment.control_plane.site:
        yield CloudName(site=name, what="vault", name=vault_name(environment))


def _aws(environment: Environment, name: str, site: AwsSite) -> Iterator[CloudName]:
    vpc = site.existing.vpc or cloud_name(environment, f"{environment.name}-{name}-network-vpc")
    yield CloudName(site=name, what="VPC", name=vpc, existing=site.existing.vpc is not None)
    yield CloudName(site=name, what="role of nodes", name=node_role(place_of(environment, name)))
