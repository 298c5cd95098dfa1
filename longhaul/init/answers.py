"""Answers that are needed to write an environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING, Literal

from longhaul.init.sizes import SizeAnswer

if TYPE_CHECKING:
    from clouds.base.machine_types import MachineProperties
    from clouds.base.pool_section import Reservation

PrincipalKind = Literal["user", "service"]


@dataclass(frozen=True, kw_only=True)
class PoolAnswer:
    """One node pool."""

    site: str
    machine_type: str
    max: int
    """Maximum number of machines."""
    gpus: int
    """Number of GPUs of its machine type."""
    name: str = ""
    """Name of the pool; empty to generate one."""
    min: int | None = None
    """Number of machines that always run; None for the default."""
    spot: bool = False
    zones: tuple[str, ...] = ()
    """Zones of the site; empty for all of its zones."""
    reservation: Reservation | None = None


@dataclass(frozen=True, kw_only=True)
class CloudSite:
    """A region of a cloud. Its site has the region's name."""

    cloud: Literal["azure", "aws"]
    region: str
    zones: tuple[str, ...]
    image: str | None = None
    """The cloud's id of an existing image; None when it is still to be baked."""


@dataclass(frozen=True, kw_only=True)
class GatewayAnswer:
    """An on-prem gateway."""

    address: IPv4Address
    """Static public address."""
    host_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostAnswer:
    """A bare-metal host."""

    name: str
    site: str = ""
    """Name of its site; empty for the site of `--gateway`, or the only site."""
    gpus: int = 0
    host_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostsAnswer:
    """Hosts with equal properties."""

    number: int
    gpus: int = 0
    site: str = ""
    """Name of their site, with the default of :class:`HostAnswer`."""


@dataclass(frozen=True, kw_only=True)
class Rack:
    """An on-prem site."""

    site: str
    gateways: tuple[GatewayAnswer, ...]


@dataclass(frozen=True, kw_only=True)
class Places:
    """Sites, with the nodes in them."""

    clouds: tuple[CloudSite, ...]
    """Sites in clouds. The first site has the control plane, and is on Azure."""
    types: Mapping[str, MachineProperties]
    """Machine types that are not built in, by name."""
    pools: tuple[PoolAnswer, ...] = ()
    racks: tuple[Rack, ...] = ()
    hosts: tuple[HostAnswer, ...] = ()

    @property
    def control(self) -> CloudSite:
        """Return the control plane's site."""
        return self.clouds[0]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """All answers for one environment."""

    name: str
    supernet: IPv4Network
    used: tuple[IPv4Network, ...]
    """Ranges that something else uses."""
    domain: str
    size: SizeAnswer
    destroyable: bool
    officers: Mapping[str, PrincipalKind]
    """Kinds of principals by object id."""
    operators: tuple[IPv4Network, ...]
    administrator_key: str
    subscription: str
    """Azure subscription of every Azure site."""
    tenant: str
    places: Places
