"""What there is to know of AWS, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clouds.aws.site import AwsSite

if TYPE_CHECKING:
    from clouds.base.cloud import (
        Doctor,
        Fleet,
        Groups,
        Images,
        Listing,
        MachineTypes,
        Made,
        Names,
        Policy,
        Prices,
        Tunnels,
    )
    from clouds.base.picture import Picture


class Aws:
    """The cloud of every :class:`AwsSite`."""

    kind = "aws"
    title = "AWS"
    site_type = AwsSite
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
