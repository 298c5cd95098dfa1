"""Facts about an environment: plain values, for the text and for ``--json`` alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TypeVar

from clouds.base.groups import PoolGroup
from clouds.registry import clouds
from components.model.control_plane.machines import Role
from components.model.network.links import LinkKind, PlannedLink
from longhaul.show.counts import Bounds, GpuCount
from longhaul.show.people import PeopleView


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The whole environment in a few numbers."""

    sites: int
    regions: int
    """Number of cloud regions."""
    onprem_sites: int
    """Number of on-premises sites."""
    nodes: Bounds
    """Machines that run pods: machines of pools, and hosts."""
    gpus: Bounds
    gpus_by_model: tuple[GpuCount, ...]
    control_machines: int


@dataclass(frozen=True, kw_only=True)
class ZoneRanges:
    """Ranges of an availability zone inside its site's ranges."""

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
    """Name of the region in the cloud; empty for an on-premises site."""
    block: IPv4Network
    infra: IPv4Network
    nodes: IPv4Network
    pods: IPv4Network
    subnets: Mapping[str, IPv4Network]
    """Subnets for infrastructure, by purpose."""
    zones: tuple[ZoneRanges, ...]
    """Empty for an on-premises site."""
    most_nodes: int
    """Number of nodes when every pool is at its maximum; of an on-premises site, of its hosts."""
    room: int | None
    """Number of nodes, with their pods, for which the ranges have addresses; ``None`` when the cloud does not tell."""
    room_left: int | None
    """Number of nodes for which addresses are left; ``None`` as above."""
    control_plane: bool
    """True when the control plane is here."""
    existing: tuple[str, ...]
    """Phrases for the parts that exist already."""


@dataclass(frozen=True, kw_only=True)
class ControlMachineOverview:
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
    """Number of machines that may be lost at once while the role still works: an etcd cluster keeps its quorum, and of
    the API servers one is left."""
    machines: tuple[ControlMachineOverview, ...]


@dataclass(frozen=True, kw_only=True)
class ControlPlaneView:
    """The control plane."""

    site: str
    api_name: str
    api_address: IPv4Address
    api_port: int
    kubernetes: str
    """Version of Kubernetes."""
    etcd: str
    """Version of etcd."""
    roles: tuple[ControlRole, ...]
    learner: ControlMachineOverview | None
    """The member of the main etcd cluster that never votes; None where there is none."""
    learner_type: str
    """Its machine type; empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class PoolOverview:
    """A pool in a cloud."""

    name: str
    site: str
    machine_type: str
    nodes: Bounds
    spare: int
    """Number of nodes that are kept free, for whatever comes next."""
    vcpus: int
    """Virtual cores of one machine."""
    memory_gib: int
    """Memory of one machine, GiB."""
    gpus_each: int
    gpus: GpuCount
    spot: bool
    priority: int
    """Pools with a lower number are filled first."""
    fallbacks: tuple[str, ...]
    groups: tuple[PoolGroup, ...]
    """Auto scaling group, or scale sets."""


@dataclass(frozen=True, kw_only=True)
class GatewayView:
    """A machine that ends the tunnels of an on-premises site."""

    name: str
    """Name of the machine."""
    address: IPv4Address
    public_address: IPv4Address


@dataclass(frozen=True, kw_only=True)
class HostView:
    """A bare-metal host."""

    name: str
    """Name of the machine and of its node."""
    address: IPv4Address
    pods: IPv4Network
    """Range of its pods, which the site's routers send to it."""


@dataclass(frozen=True, kw_only=True)
class HostsView:
    """Hosts of one on-premises site."""

    site: str
    hosts: int
    room: int
    """Number of hosts that the site's block has room for."""
    gpus: tuple[GpuCount, ...]
    first: IPv4Address | None
    """Lowest address of a host; ``None`` when there is no host."""
    last: IPv4Address | None
    """Highest address of a host; ``None`` when there is no host."""
    gateways: tuple[GatewayView, ...]
    machines: tuple[HostView, ...]
    """Hosts in the order of their addresses."""


@dataclass(frozen=True, kw_only=True)
class CloudName:
    """Name of one of the main things of a site in its cloud."""

    site: str
    what: str
    """Kind of thing in words, such as ``resource group``."""
    name: str
    """Its name. For an AWS network, this is the tag ``Name``, or the ID of a network that exists already."""
    pool: str = ""
    """Pool that it belongs to; empty when it belongs to none."""
    existing: bool = False
    """True when it exists already."""


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
    """Largest packet of a pod, bytes."""
    totals: Totals
    sites: tuple[SiteView, ...]
    control_plane: ControlPlaneView
    pools: tuple[PoolOverview, ...]
    """Site by site, in the file's order."""
    autoscaler: str
    """``acts``; ``looks``, when it only says what it would do; or ``off``."""
    hosts: tuple[HostsView, ...]
    people: PeopleView
    queues: bool
    """True when jobs queue for what teams may use."""
    links: tuple[PlannedLink, ...]
    names: tuple[CloudName, ...]
    """Site by site."""

    def linked(self, site: str) -> dict[LinkKind, list[str]]:
        """Return the sites that ``site`` is linked to, by kind of link."""
        by_kind: dict[LinkKind, list[str]] = {}
        for link in self.links:
            if site in (link.first, link.second):
                by_kind.setdefault(link.kind, []).append(link.second if link.first == site else link.first)
        return by_kind


def where(site: SiteView) -> str:
    """Return the cloud and the region."""
    return f"{clouds()[site.kind].title} {site.region}".rstrip()


PoolT = TypeVar("PoolT")


def folded(pools: Sequence[PoolT], most: int | None) -> Sequence[PoolT]:
    """Return the pools of one site that are shown: all, or the first ``most``. A single pool more is shown too, because
    a line that mentions it would be no shorter."""
    return pools if most is None or len(pools) <= most + 1 else pools[:most]
