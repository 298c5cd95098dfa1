"""What there is to say of an environment: plain values, for the text and for ``--json`` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TypeVar

from clouds.base.groups import PoolGroup
from clouds.registry import clouds
from components.model.links import LinkKind, PlannedLink
from components.model.machines import Role
from longhaul.show.counts import GpuCount, Span


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The whole in a few numbers."""

    sites: int
    regions: int
    """Cloud regions."""
    racks: int
    """On-prem sites."""
    nodes: Span
    """Machines that run pods: pools' machines and bare-metal hosts."""
    gpus: Span
    gpus_by_model: tuple[GpuCount, ...]
    control_machines: int


@dataclass(frozen=True, kw_only=True)
class ZoneRanges:
    """What an availability zone has of its site's ranges."""

    zone: str
    nodes: IPv4Network
    pods: IPv4Network


@dataclass(frozen=True, kw_only=True)
class SiteView:
    """A site and its ranges."""

    name: str
    kind: str
    """Its cloud, such as ``azure``, ``aws`` or ``onprem``."""
    region: str
    """The cloud's name of it; empty for racks."""
    block: IPv4Network
    infra: IPv4Network
    nodes: IPv4Network
    pods: IPv4Network
    subnets: Mapping[str, IPv4Network]
    """Infrastructure subnets by what they are for."""
    zones: tuple[ZoneRanges, ...]
    """Empty for racks."""
    control_plane: bool
    """Whether the control plane is here."""
    existing: tuple[str, ...]
    """What is there already, in words."""


@dataclass(frozen=True, kw_only=True)
class ControlMachine:
    """One machine of the control plane."""

    name: str
    zone: str
    address: IPv4Address


@dataclass(frozen=True, kw_only=True)
class ControlRole:
    """The control plane's machines of one role."""

    role: Role
    machine_type: str
    survives: int
    """How many may be lost at once with the role still at work: an etcd store keeps its quorum, of the API servers one
    is left."""
    machines: tuple[ControlMachine, ...]


@dataclass(frozen=True, kw_only=True)
class ControlPlaneView:
    """The control plane."""

    site: str
    api_name: str
    api_address: IPv4Address
    api_port: int
    kubernetes: str
    """Version."""
    etcd: str
    """Version."""
    roles: tuple[ControlRole, ...]


@dataclass(frozen=True, kw_only=True)
class PoolView:
    """A pool in a cloud."""

    name: str
    site: str
    machine_type: str
    nodes: Span
    vcpus: int
    """Of one machine."""
    memory_gib: int
    """Of one machine."""
    gpus_each: int
    gpus: GpuCount
    spot: bool
    priority: int
    """Pools of lower number are filled first."""
    fallbacks: tuple[str, ...]
    groups: tuple[PoolGroup, ...]
    """Auto scaling group, or scale sets."""


@dataclass(frozen=True, kw_only=True)
class GatewayView:
    """A machine that ends a rack's tunnels."""

    name: str
    """The machine's."""
    address: IPv4Address
    public_address: IPv4Address


@dataclass(frozen=True, kw_only=True)
class RackView:
    """The bare metal of one on-prem site."""

    site: str
    hosts: int
    room: int
    """Hosts that the site's block has room for."""
    gpus: tuple[GpuCount, ...]
    first: IPv4Address | None
    """Lowest address of a host; ``None`` where there is none."""
    last: IPv4Address | None
    """Highest."""
    gateways: tuple[GatewayView, ...]


@dataclass(frozen=True, kw_only=True)
class CloudName:
    """What a cloud calls one of the main things of a site."""

    site: str
    what: str
    """In words, such as ``resource group``."""
    name: str
    """Of an AWS network the tag ``Name``, or its id where it is there already."""
    pool: str = ""
    """The pool that it is of; empty where it is of none."""
    existing: bool = False
    """Whether it is there already."""


@dataclass(frozen=True, kw_only=True)
class Overview:
    """An environment."""

    name: str
    domain: str
    supernet: IPv4Network
    services: IPv4Network
    kubernetes_service: IPv4Address
    dns_service: IPv4Address
    operators: IPv4Network
    pod_mtu: int
    """Bytes."""
    totals: Totals
    sites: tuple[SiteView, ...]
    control_plane: ControlPlaneView
    pools: tuple[PoolView, ...]
    """Site by site, in the file's order."""
    racks: tuple[RackView, ...]
    links: tuple[PlannedLink, ...]
    names: tuple[CloudName, ...]
    """Site by site."""

    def linked(self, site: str) -> dict[LinkKind, list[str]]:
        """The sites that ``site`` is linked to, by the kind of link."""
        found: dict[LinkKind, list[str]] = {}
        for link in self.links:
            if site in (link.first, link.second):
                found.setdefault(link.kind, []).append(link.second if link.first == site else link.first)
        return found


def where(site: SiteView) -> str:
    """Cloud and region."""
    return f"{clouds()[site.kind].title} {site.region}".rstrip()


PoolT = TypeVar("PoolT")


def folded(pools: Sequence[PoolT], most: int | None) -> Sequence[PoolT]:
    """Those of one site's pools that are shown: all, or the first ``most``. A single one beyond is shown too, since the
    line that tells of it would be no shorter."""
    return pools if most is None or len(pools) <= most + 1 else pools[:most]
