"""What there is to know of Nimbus, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nimbus.site import NimbusSite

if TYPE_CHECKING:
    from clouds.base.cloud import (
        Checks,
        Cloud,
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


class Nimbus:
    """The cloud of every :class:`NimbusSite`. No control plane stands there, so none can be asked (``control``); what
    is made there are dynamic resources, which need no plugin (``provider``)."""

    kind = "nimbus"
    title = "Nimbus"
    site_type = NimbusSite
    holds_control_plane = False
    provider = ""
    rents = True
    control = None

    @property
    def checks(self) -> Checks[NimbusSite]:
        from nimbus import checks

        return checks

    @property
    def doctor(self) -> Doctor[NimbusSite]:
        from nimbus import doctor

        return doctor

    @property
    def fleet(self) -> Fleet[NimbusSite]:
        from nimbus import fleet

        return fleet

    @property
    def groups(self) -> Groups[NimbusSite]:
        from nimbus import groups

        return groups

    @property
    def held(self) -> Held[NimbusSite]:
        from nimbus import held

        return held

    @property
    def images(self) -> Images[NimbusSite]:
        from nimbus import images

        return images

    @property
    def listing(self) -> Listing[NimbusSite]:
        from nimbus import listing

        return listing

    @property
    def machine_identity(self) -> MachineIdentity[NimbusSite]:
        from nimbus import machine_identity

        return machine_identity

    @property
    def machine_types(self) -> MachineTypes:
        from nimbus import machine_types

        return machine_types

    @property
    def made(self) -> Made[NimbusSite]:
        from nimbus import made

        return made

    @property
    def names(self) -> Names[NimbusSite]:
        from nimbus import names

        return names

    @property
    def node_controller(self) -> NodeController[NimbusSite]:
        from nimbus import node_controller

        return node_controller

    @property
    def policy(self) -> Policy[NimbusSite]:
        from nimbus import policy

        return policy

    @property
    def prices(self) -> Prices[NimbusSite]:
        from nimbus import prices

        return prices

    @property
    def resources(self) -> Resources:
        from nimbus import resources

        return resources

    @property
    def tags(self) -> Tags[NimbusSite]:
        from nimbus import tags

        return tags

    @property
    def tunnels(self) -> Tunnels[NimbusSite]:
        from nimbus import tunnels

        return tunnels

    @property
    def user_data(self) -> UserData:
        from nimbus import user_data

        return user_data

    @property
    def picture(self) -> Picture:
        from nimbus.picture import PICTURE

        return PICTURE


if TYPE_CHECKING:
    WHOLE: Cloud[NimbusSite] = Nimbus()
    """Held by mypy: whoever leaves a method out is told."""
