"""Lists the clouds' names for the main things of an environment, to be seen before anything is made."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.registry import cloud_of
from components.model import Environment
from components.model.secrets.vault import vault_name
from components.model.sites.places import place_of
from longhaul.show.overview import CloudName


def cloud_names(environment: Environment) -> Iterator[CloudName]:
    """Yield the names site by site: groups and networks first, pools last."""
    for name, site in environment.sites.items():
        cloud, place = cloud_of(site), place_of(environment, name)
        for one in cloud.names.main(place):
            yield CloudName(site=name, what=one.what, name=one.name, existing=one.existing)
        if place.is_control:
            yield CloudName(site=name, what="vault", name=vault_name(environment))
        for pool in place.pools:
            for group in cloud.groups.of_pool(place, pool):
                yield CloudName(site=name, what=cloud.groups.word, name=group.name, pool=pool)
