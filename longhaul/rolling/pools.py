"""The groups of a pool, by its environment's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longhaul.exits import CommandError, Exit
from longhaul.rolling.cloud import Cloud, Several

if TYPE_CHECKING:
    from components.model import Environment


def cloud_of(environment: Environment, pool_name: str) -> Cloud:
    """The cloud of a pool; ``CommandError`` when there is no such pool."""
    from clouds.aws.site import AwsSite
    from clouds.azure.names import resource_group
    from clouds.azure.site import AzureSite
    from components.model.groups import pool_groups
    from components.model.nodes import BARE_METAL_POOL
    from components.model.places import place_of

    pool = environment.pools.get(pool_name)
    if pool is None:
        racks = (BARE_METAL_POOL,) if environment.hosts else ()
        known = ", ".join((*environment.pools, *racks)) or "none"
        raise CommandError(f"{environment.name} has no pool {pool_name!r} (pools: {known})", code=Exit.USAGE)
    names = [group.name for group in pool_groups(environment, pool_name)]
    match environment.sites[pool.site]:
        case AwsSite() as site:
            from longhaul.rolling.aws import AwsGroup

            return AwsGroup(names[0], region=site.region)
        case AzureSite() as site:
            from longhaul.rolling.azure import AzureGroup

            where = resource_group(place_of(environment, pool.site))
            sets = {name: AzureGroup(name, subscription=site.subscription, resource_group=where) for name in names}
            return Several(sets) if len(sets) > 1 else sets[names[0]]
        case site:
            raise CommandError(f"pool {pool_name} is on {site.kind}, not in a cloud", code=Exit.USAGE)
