"""What there is to know of AWS, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clouds.aws.site import AwsSite

if TYPE_CHECKING:
    from clouds.base.cloud import (
        Checks,
        Doctor,
        Fleet,
        Groups,
        Held,
        Images,
        Listing,
        MachineIdentity,
        MachineTypes,
        Made,
        Names,
        NodeController,
        Policy,
        Prices,
        Resources,
        Tags,
        Tunnels,
        UserData,
    )
    from clouds.base.picture import Picture


class Aws:
    """The cloud of every :class:`AwsSite`."""

    kind = "aws"
    title = "AWS"
    site_type = AwsSite
    holds_control_plane = False
    provider = "aws"
    rents = True
    control = None

    @property
    def fleet(self) -> Fleet[AwsSite]:
        """Pools as the cloud has them."""
        from clouds.aws import fleet

        return fleet

    @property
    def groups(self) -> Groups[AwsSite]:
        """Groups that pools become."""
        from clouds.aws import groups

        return groups

    @property
    def listing(self) -> Listing[AwsSite]:
        """What the cloud itself lists of an environment."""
        from clouds.aws import listing

        return listing

    @property
    def machine_types(self) -> MachineTypes:
        """Machine types that need no declaration."""
        from clouds.aws import machine_types

        return machine_types

    @property
    def made(self) -> Made[AwsSite]:
        """Parts that are made, and parts that are there already."""
        from clouds.aws import made

        return made

    @property
    def picture(self) -> Picture:
        """How its sites are drawn."""
        from clouds.aws.picture import PICTURE

        return PICTURE

    @property
    def policy(self) -> Policy[AwsSite]:
        """Looks for what breaks a rule."""
        from clouds.aws import policy

        return policy

    @property
    def names(self) -> Names[AwsSite]:
        """Names that could become too long."""
        from clouds.aws import names

        return names

    @property
    def tunnels(self) -> Tunnels[AwsSite]:
        """Tunnels to a site."""
        from clouds.aws import tunnels

        return tunnels

    @property
    def doctor(self) -> Doctor[AwsSite]:
        """What has to be there before anything is made."""
        from clouds.aws import doctor

        return doctor

    @property
    def images(self) -> Images[AwsSite]:
        """Images that machines boot."""
        from clouds.aws import images

        return images

    @property
    def prices(self) -> Prices[AwsSite]:
        """Prices that are published."""
        from clouds.aws import prices

        return prices

    @property
    def checks(self) -> Checks[AwsSite]:
        """Parts that are named instead of made."""
        from clouds.aws import checks

        return checks

    @property
    def held(self) -> Held[AwsSite]:
        """Facts that stay."""
        from clouds.aws import held

        return held

    @property
    def machine_identity(self) -> MachineIdentity[AwsSite]:
        """Identities of machines."""
        from clouds.aws import machine_identity

        return machine_identity

    @property
    def tags(self) -> Tags[AwsSite]:
        """Tags that it takes."""
        from clouds.aws import tags

        return tags

    @property
    def node_controller(self) -> NodeController[AwsSite]:
        """Machines to the node controller."""
        from clouds.aws import node_controller

        return node_controller

    @property
    def user_data(self) -> UserData:
        """Data that a machine is born with."""
        from clouds.aws import user_data

        return user_data

    @property
    def resources(self) -> Resources:
        """Types of what is made."""
        from clouds.aws import resources

        return resources
