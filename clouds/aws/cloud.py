"""AWS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clouds.aws.site import AwsSite
from clouds.base.cloud import MADE, Cloud, Picture

if TYPE_CHECKING:
    from clouds.aws.checks import AwsSiteChecks
    from clouds.aws.doctor import AwsCloudDoctor
    from clouds.aws.groups import AwsPoolGroups
    from clouds.aws.images import AwsMachineImages
    from clouds.aws.limits import AwsSiteLimits
    from clouds.aws.listing import AwsResourceListing
    from clouds.aws.machine_types import AwsMachineTypes
    from clouds.aws.names import AwsResourceNames
    from clouds.aws.parts import AwsSiteParts
    from clouds.aws.policy import AwsPolicyChecks
    from clouds.aws.prices import AwsPriceList
    from clouds.aws.quarantine import AwsPoolQuarantine
    from clouds.aws.resource_types import AwsResourceTypes
    from clouds.aws.tag_rules import AwsTagRules
    from clouds.aws.tunnels import AwsSiteTunnels
    from clouds.base.live_groups import LiveGroup
    from clouds.base.machine_access import OwnAccess
    from clouds.base.machine_lists import MachineList
    from clouds.base.place import Place
    from clouds.base.ranges import SiteRanges
    from contract.documents.node_controller import NodeEnvironment, NodeSite


class Aws(Cloud[AwsSite]):
    """The cloud of every :class:`AwsSite`."""

    kind = "aws"
    title = "AWS"
    site_type = AwsSite
    picture = Picture(title="AWS", light="#9c5000", dark="#f2a552", zones_have_ranges=True)
    provider = "aws"
    service_domains = ("amazonaws.com",)
    user_data_limit = 16384
    """Size in bytes before the API's base64 encoding (EC2 user guide, "Run commands when you launch an EC2 instance
    with user data input")."""
    node_controller_takes_role = True
    """The node controller runs outside AWS."""

    def immutable_settings(self, site: AwsSite, ranges: SiteRanges) -> dict[str, str]:
        """Return the region, the VPC, the account if the file names it, and the range of each zone. Zones are included
        because a subnet belongs to one zone, and the address plan assigns ranges in the zones' order."""
        return {
            "region": site.region,
            "existing.vpc": site.existing.vpc or MADE,
            **({"account": site.account} if site.account else {}),
            **{f"zones.{zone}": str(range_) for zone, range_ in zip(site.zones, ranges.zones, strict=False)},
        }

    def live_groups(self, place: Place[AwsSite], pool: str) -> Mapping[str, LiveGroup]:
        """Return the pool's auto scaling group."""
        from clouds.aws.live_groups import live_groups

        return live_groups(place, pool)

    def machine_list(self, environment: NodeEnvironment, site: NodeSite) -> MachineList:
        """Return the list of the instances of a site's auto scaling groups."""
        from clouds.aws.machine_lists import AwsMachineList

        return AwsMachineList(environment, site)

    def node_controller_settings(self, place: Place[AwsSite]) -> dict[str, str]:
        """Return the region in which the node controller lists machines, and the role by which machines prove their
        identity."""
        from clouds.aws.names import node_role

        return {"region": place.site.region, "node_role": node_role(place)}

    def use_access(self, access: OwnAccess) -> None:
        """Assume the program's role with a token of the program's identity in Azure."""
        from clouds.aws.machine_access import use

        use(access)

    @property
    def checks(self) -> AwsSiteChecks:
        from clouds.aws.checks import AwsSiteChecks

        return AwsSiteChecks()

    @property
    def doctor(self) -> AwsCloudDoctor:
        from clouds.aws.doctor import AwsCloudDoctor

        return AwsCloudDoctor()

    @property
    def groups(self) -> AwsPoolGroups:
        from clouds.aws.groups import AwsPoolGroups

        return AwsPoolGroups()

    @property
    def images(self) -> AwsMachineImages:
        from clouds.aws.images import AwsMachineImages

        return AwsMachineImages()

    @property
    def limits(self) -> AwsSiteLimits:
        from clouds.aws.limits import AwsSiteLimits

        return AwsSiteLimits()

    @property
    def listing(self) -> AwsResourceListing:
        from clouds.aws.listing import AwsResourceListing

        return AwsResourceListing()

    @property
    def machine_types(self) -> AwsMachineTypes:
        from clouds.aws.machine_types import AwsMachineTypes

        return AwsMachineTypes()

    @property
    def names(self) -> AwsResourceNames:
        from clouds.aws.names import AwsResourceNames

        return AwsResourceNames()

    @property
    def parts(self) -> AwsSiteParts:
        from clouds.aws.parts import AwsSiteParts

        return AwsSiteParts()

    @property
    def policy(self) -> AwsPolicyChecks:
        from clouds.aws.policy import AwsPolicyChecks

        return AwsPolicyChecks()

    @property
    def prices(self) -> AwsPriceList:
        from clouds.aws.prices import AwsPriceList

        return AwsPriceList()

    @property
    def quarantine(self) -> AwsPoolQuarantine:
        from clouds.aws.quarantine import AwsPoolQuarantine

        return AwsPoolQuarantine()

    @property
    def resources(self) -> AwsResourceTypes:
        from clouds.aws.resource_types import AwsResourceTypes

        return AwsResourceTypes()

    @property
    def tags(self) -> AwsTagRules:
        from clouds.aws.tag_rules import AwsTagRules

        return AwsTagRules()

    @property
    def tunnels(self) -> AwsSiteTunnels:
        from clouds.aws.tunnels import AwsSiteTunnels

        return AwsSiteTunnels()
