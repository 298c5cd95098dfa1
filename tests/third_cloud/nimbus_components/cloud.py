"""Everything of an environment in Nimbus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pulumi
from nimbus import names
from pulumi import Output, ResourceOptions

from components.links import EndContext
from components.model import AddressPlan, Environment
from components.model.cloud_names import pool_groups
from components.model.places import place_of
from components.resources import UserData
from components.tags import site_tags
from nimbus_components import made
from nimbus_components.links import NimbusEnd

if TYPE_CHECKING:
    from components.resources import MakesResources


class NimbusCloud:
    """The sites of an environment in Nimbus."""

    providers: Sequence[pulumi.ProviderResource] = ()

    def __init__(self, environment: Environment, addresses: AddressPlan, *, parent: pulumi.Resource) -> None:
        self._environment, self._addresses = environment, addresses
        self._child = ResourceOptions(parent=parent)
        self._fabrics: dict[str, pulumi.Input[str]] = {}

    def make_site(self, name: str) -> None:
        """Make a site's fabric, or use the existing one."""
        place = place_of(self._environment, name)
        if place.site.existing.fabric:
            self._fabrics[name] = place.site.existing.fabric
            return
        properties = {
            "name": names.fabric(place),
            "region": place.site.region,
            "range": str(self._addresses.sites[name].block),
            "tags": site_tags(self._environment, name),
        }
        self._fabrics[name] = made.Fabric(f"{self._environment.name}-{name}-fabric", properties, self._child).id

    def make_pools(self, site: str, user_data: UserData) -> None:
        """Make a site's flocks."""
        for pool, declared in self._environment.pools.items():
            if declared.site == site:
                self._flocks(pool, user_data)

    def _flocks(self, pool: str, user_data: UserData) -> None:
        declared = self._environment.pools[pool]
        site = self._environment.sites[declared.site]
        groups = pool_groups(self._environment, pool)
        own = pulumi.ComponentResource("longhaul:nimbus:Pool", f"{self._environment.name}-{pool}", None, self._child)
        for group in groups:
            properties = {
                "name": group.name,
                "fabric": self._fabrics[declared.site],
                "machine_type": declared.machine_type,
                "image": site.image,
                "min": group.min,
                "max": group.max,
                "skylight": False,
                "user_data": user_data(pool, group=group.name if len(groups) > 1 else None),
                "tags": {**site_tags(self._environment, declared.site), "longhaul-pool": pool},
            }
            made.Flock(group.resource, properties, ResourceOptions(parent=own))

    def admit_controller(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Return the readers' ids as an output, for the administrator who admits them: Nimbus knows each by its id."""
        return {"nimbus_readers": Output.all(**principal_ids)}

    def admit_autoscaler(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Return the scalers' ids as an output, for the administrator who admits them."""
        return {"nimbus_scalers": Output.all(**principal_ids)}

    def link_end(self, place: EndContext) -> NimbusEnd:
        """Make a site's end of its links."""
        return NimbusEnd(place)


if TYPE_CHECKING:
    WHOLE: MakesResources = NimbusCloud
    """Checked by mypy."""
