"""Answers that are needed to write an environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Literal

PrincipalKind = Literal["user", "service"]


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of a control plane."""

    members: int
    """Number of members of each of the two etcd clusters."""
    servers: int
    """Number of API servers."""
    etcd_type: str
    """Azure machine type of the main etcd cluster's members: one with local SSD."""
    events_type: str
    """Azure machine type of the events etcd cluster's members."""
    api_type: str

    def __str__(self) -> str:
        return f"{self.members}/{self.members}/{self.servers}"


SIZES: Mapping[str, Size] = {
    "trial": Size(
        members=1,
        servers=1,
        etcd_type="Standard_L8s_v3",
        events_type="Standard_L8s_v3",
        api_type="Standard_D4s_v5",
    ),
    "standard": Size(
        members=3,
        servers=2,
        etcd_type="Standard_L8s_v3",
        events_type="Standard_L8s_v3",
        api_type="Standard_D8s_v5",
    ),
    "large": Size(
        members=5,
        servers=5,
        etcd_type="Standard_L16s_v3",
        events_type="Standard_L8s_v3",
        api_type="Standard_D32s_v5",
    ),
}
"""Sizes by name. The machine types of `standard` are the lab environment's, those of `large` the production
example's."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One node pool."""

    machine_type: str
    max: int
    """Maximum number of machines."""


@dataclass(frozen=True, kw_only=True)
class Azure:
    """The control plane's site."""

    subscription: str
    tenant: str
    region: str
    zones: tuple[str, ...]
    image: str | None = None
    """Resource id of an image's version, if one exists already."""
    pool: Pool | None = None


@dataclass(frozen=True, kw_only=True)
class Aws:
    """A site on AWS with one pool."""

    region: str
    zones: tuple[str, ...]
    pool: Pool
    image: str | None = None
    """Id of an image, if one exists already."""


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """An on-prem gateway."""

    address: IPv4Address
    """Static public address."""
    host_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """A bare-metal host."""

    name: str
    gpus: int = 0
    host_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rack:
    """An on-prem site."""

    gateways: tuple[Gateway, ...]
    hosts: tuple[Host, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Answers:
    """All answers."""

    name: str
    supernet: IPv4Network
    domain: str
    size: Size
    destroyable: bool
    officers: Mapping[str, PrincipalKind]
    """Kinds of principals by object id."""
    operators: tuple[IPv4Network, ...]
    administrator_key: str
    azure: Azure
    aws: Aws | None = None
    rack: Rack | None = None
