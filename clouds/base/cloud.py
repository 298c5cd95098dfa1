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
from clouds.base.resource_types import ResourceTypes
from clouds.base.site import SiteBase
from clouds.base.tag_rules import TagRules
from clouds.base.tunnels import SiteTunnels

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.live_groups import LiveGroup
    from clouds.base.machine_access import OwnAccess
    from clouds.base.machine_lists import MachineList
    from clouds.base.quarantine import PoolQuarantine
    from clouds.base.ranges import SiteRanges
    from contract.documents.node_controller import NodeEnvironment, NodeSite

MADE = "made by Longhaul"
"""Value of an immutable setting when the file names no existing part, so that Longhaul makes the part."""


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
    gateway_in_subnet: bool = False
    """True when the VPN gateway is in the site's gateway subnet, which the map then shows."""


class Cloud(Generic[SiteT]):
    """One cloud, with one type of site. Racks count as a cloud.

    A subclass sets the attributes that have no value here, and overrides defaults that do not suit the cloud. An aspect
    with several functions is a class in ``clouds/base/<aspect>.py``; the cloud's module of the same name derives from
    it. The cloud imports that module when the aspect is first used, so unused aspects cost no start-up time.
    """

    kind: ClassVar[str]
    """Name of the cloud in files, such as ``aws``; the value of a site's ``kind``."""
    title: ClassVar[str]
    """Name of the cloud in sentences, such as ``AWS``."""
    site_type: ClassVar[type[SiteBase]]
    """Pydantic model of a site's section in the environment file."""
    picture: ClassVar[Picture]
    """Appearance of the cloud's sites on the map."""
    holds_control_plane: ClassVar[bool] = False
    """True when a control plane can be in this cloud."""
    rents: ClassVar[bool] = True
    """True when the cloud makes machines on request, so that pools can be there. On-premises sites have hosts
    instead."""
    provider: ClassVar[str] = ""
    """Name of the Pulumi provider package; empty when the program makes no resources in this cloud."""
    administrator_keys: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Types of the administrator's SSH public key that the cloud's machines accept, each with its minimum size in bits;
    empty when machines are made without that key."""
    service_domains: ClassVar[tuple[str, ...]] = ()
    """Domains below which the cloud's services are that machines call."""
    user_data_limit: ClassVar[int | None] = None
    """Largest size of a machine's user data, bytes; None when machines have none."""
    node_controller_takes_role: ClassVar[bool] = False
    """True when the node controller needs a role in the cloud that the program makes."""

    def account_scope(self, site: SiteT) -> str:
        """Return the text that identifies the site's account in the cloud, such as a subscription's id. The name of a
        vault contains a digest of this text, because the name must be unique worldwide."""
        return self.kind

    def immutable_settings(self, site: SiteT, ranges: SiteRanges) -> dict[str, str]:
        """Return a site's immutable settings other than its kind and its range. Keys are relative to the site's section
        in the file; values are texts."""
        return {}

    def live_groups(self, place: Place[SiteT], pool: str) -> Mapping[str, LiveGroup]:
        """Return a pool's running groups by their names in the cloud, in the order in which they are filled; empty when
        the cloud cannot have pools."""
        return {}

    def node_controller_settings(self, place: Place[SiteT]) -> dict[str, str]:
        """Return the site's settings in the node controller's document by key
        (contract/documents/node_controller.py). The caller adds ``kind``."""
        return {}

    def machine_list(self, environment: NodeEnvironment, site: NodeSite) -> MachineList | None:
        """Return the list of a site's machines, from the node controller's document; None when the cloud makes no
        machines."""
        return None

    def token_issuer(self, site: SiteT) -> str | None:
        """Return the issuer of the tokens that the cloud gives its machines, as a URL without its scheme; None when no
        other cloud accepts these tokens."""
        return None

    def use_access(self, access: OwnAccess) -> None:
        """Use the identity of a program on a control plane's machine for all requests of this process to the cloud."""

    @property
    def control(self) -> ControlAccess[SiteT] | None:
        """Return the access to a control plane's machines; None when this cloud cannot have a control plane yet."""
        return None

    @property
    def quarantine(self) -> PoolQuarantine[SiteT] | None:
        """Return the quarantine of pools' machines; None when this cloud does not support it."""
        return None

    @property
    def checks(self) -> SiteChecks[SiteT]:
        """Return the checks of a site. They need only the file."""
        return SiteChecks()

    @property
    def doctor(self) -> CloudDoctor[SiteT]:
        """Return the checks of what an environment needs in the cloud."""
        return CloudDoctor()

    @property
    def groups(self) -> PoolGroups[SiteT]:
        """Return the groups of pools."""
        return PoolGroups()

    @property
    def images(self) -> MachineImages[SiteT]:
        """Return the images of machines."""
        return MachineImages()

    @property
    def limits(self) -> SiteLimits[SiteT]:
        """Return the limits of sites and pools."""
        return SiteLimits()

    @property
    def listing(self) -> ResourceListing[SiteT]:
        """Return the lists of an environment's resources."""
        return ResourceListing()

    @property
    def machine_types(self) -> MachineTypes:
        """Return the machine types that need no declaration."""
        return MachineTypes()

    @property
    def names(self) -> ResourceNames[SiteT]:
        """Return the names of resources."""
        return ResourceNames()

    @property
    def parts(self) -> SiteParts[SiteT]:
        """Return the parts of sites: parts that Longhaul makes, and existing ones."""
        return SiteParts()

    @property
    def policy(self) -> PolicyChecks[SiteT]:
        """Return the checks of resources against the rules."""
        return PolicyChecks()

    @property
    def prices(self) -> PriceList[SiteT]:
        """Return the prices that the cloud publishes."""
        return PriceList()

    @property
    def resources(self) -> ResourceTypes:
        """Return the types of the program's resources."""
        return ResourceTypes()

    @property
    def tags(self) -> TagRules[SiteT]:
        """Return the rules for tags."""
        return TagRules()

    @property
    def tunnels(self) -> SiteTunnels[SiteT]:
        """Return the tunnels to sites."""
        return SiteTunnels()
