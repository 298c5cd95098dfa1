"""The base class of every cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Generic

from clouds.base.checks import SiteChecks
from clouds.base.doctor import CloudDoctor
from clouds.base.groups import PoolGroups
from clouds.base.images import MachineImages
from clouds.base.limits import SiteLimits
from clouds.base.listing import ResourceListing
from clouds.base.machine_types import MachineTypes
from clouds.base.names import ResourceNames
from clouds.base.parts import SiteParts
from clouds.base.place import Place, SiteT
from clouds.base.policy import PolicyChecks
from clouds.base.prices import PriceList
from clouds.base.resources import ResourceTypes
from clouds.base.site import SiteBase
from clouds.base.tags import TagRules
from clouds.base.tunnels import SiteTunnels

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.live_groups import LiveGroup
    from clouds.base.machine_access import OwnAccess
    from clouds.base.quarantine import PoolQuarantine
    from clouds.base.ranges import SiteRanges

MADE = "made by Longhaul"
"""Value of an immutable setting whose part Longhaul makes, instead of an existing part that the file names."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Texts and colours of a cloud's sites on the map."""

    title: str
    """Title above the sites."""
    light: str
    """Colour on a light page. Text in this colour must be readable."""
    dark: str
    """Colour on a dark page. Text in this colour must be readable."""
    zones_have_ranges: bool
    """True when each zone has subnets of its own, which the map lists."""
    gateway: str = ""
    """Text about the VPN gateway that the cloud makes; empty where it makes none."""
    gateway_in_subnet: bool = False
    """True when the VPN gateway is in the site's gateway subnet, which the map then shows."""


class Cloud(Generic[SiteT]):
    """One cloud, whose sites are of one type; racks count as one.

    A cloud defines the attributes without a value, and overrides what differs from the defaults here. An aspect of
    several functions is a class of ``clouds/base/<aspect>.py``, which the cloud's module of the same name derives from.
    The cloud imports that module when the aspect is first used, so unused aspects cost no start-up time.
    """

    kind: ClassVar[str]
    """Name of the cloud in files, such as ``aws``; the value of a site's ``kind``."""
    title: ClassVar[str]
    """Name of the cloud in sentences, such as ``AWS``."""
    site_type: ClassVar[type[SiteBase]]
    """Pydantic model of a site's section in the environment file."""
    picture: ClassVar[Picture]
    """Appearance of its sites on the map."""
    holds_control_plane: ClassVar[bool] = False
    """True when a control plane can be in this cloud."""
    rents: ClassVar[bool] = True
    """True when the cloud makes machines on request, so that pools can be there. On-premises sites have hosts
    instead."""
    provider: ClassVar[str] = ""
    """Name of the Pulumi provider package; empty when the program makes no resources in this cloud."""
    administrator_keys: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Types of SSH public keys that its machines can be made with, each with its least size in bits; empty when they
    are made without the administrator's key."""
    user_data_limit: ClassVar[int | None] = None
    """Bytes of user data that a machine takes; None where it takes none at all."""
    node_controller_takes_role: ClassVar[bool] = False
    """True when the node controller needs a role in the cloud that the program makes."""

    def account_scope(self, site: SiteT) -> str:
        """Return the text that distinguishes the cloud's accounts, such as a subscription's id. A vault's name, which
        must be unique worldwide, contains a digest of it."""
        return self.kind

    def immutable_settings(self, site: SiteT, ranges: SiteRanges) -> dict[str, str]:
        """Return a site's immutable settings besides its kind and its range: key below the site's own in the file, and
        value as text."""
        return {}

    def live_groups(self, place: Place[SiteT], pool: str) -> Mapping[str, LiveGroup]:
        """Return a pool's running groups by their names in the cloud, in the order in which they are filled; empty
        where no pool can be."""
        return {}

    def node_controller_settings(self, place: Place[SiteT]) -> dict[str, str]:
        """Return the site's settings in the node controller's document: key and value (images/rootfs,
        controller/environment.py). The caller adds ``kind``."""
        return {}

    def token_issuer(self, site: SiteT) -> str | None:
        """Return the issuer of the tokens that the cloud gives its machines, without the scheme; None when no other
        cloud accepts these tokens."""
        return None

    def use_access(self, access: OwnAccess) -> None:
        """Have all requests of this process to the cloud made with the identity of a program on a control plane's
        machine."""

    @property
    def control(self) -> ControlAccess[SiteT] | None:
        """Machines of a control plane; None when none can be in this cloud yet."""
        return None

    @property
    def quarantine(self) -> PoolQuarantine[SiteT] | None:
        """Quarantine of pools' machines; None when no machine of a pool can be put into it here."""
        return None

    @property
    def checks(self) -> SiteChecks[SiteT]:
        """Checks of a site, as far as the file alone tells."""
        return SiteChecks()

    @property
    def doctor(self) -> CloudDoctor[SiteT]:
        """Checks of what an environment needs of the cloud."""
        return CloudDoctor()

    @property
    def groups(self) -> PoolGroups[SiteT]:
        """Groups that pools become."""
        return PoolGroups()

    @property
    def images(self) -> MachineImages[SiteT]:
        """Images that machines boot."""
        return MachineImages()

    @property
    def limits(self) -> SiteLimits[SiteT]:
        """Limits of sites and pools."""
        return SiteLimits()

    @property
    def listing(self) -> ResourceListing[SiteT]:
        """Resources that the cloud itself lists."""
        return ResourceListing()

    @property
    def machine_types(self) -> MachineTypes:
        """Machine types that need no declaration."""
        return MachineTypes()

    @property
    def names(self) -> ResourceNames[SiteT]:
        """Names of resources."""
        return ResourceNames()

    @property
    def parts(self) -> SiteParts[SiteT]:
        """Parts of sites that are made, and parts that exist already."""
        return SiteParts()

    @property
    def policy(self) -> PolicyChecks[SiteT]:
        """Checks of resources against the rules."""
        return PolicyChecks()

    @property
    def prices(self) -> PriceList[SiteT]:
        """Prices that the cloud publishes."""
        return PriceList()

    @property
    def resources(self) -> ResourceTypes:
        """Types of the program's resources."""
        return ResourceTypes()

    @property
    def tags(self) -> TagRules[SiteT]:
        """Tags that the cloud accepts."""
        return TagRules()

    @property
    def tunnels(self) -> SiteTunnels[SiteT]:
        """Tunnels to sites."""
        return SiteTunnels()
