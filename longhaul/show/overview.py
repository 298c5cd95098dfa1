"""Facts about an environment: plain values, both for the text and for ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import TypeVar

from clouds.base.groups import PoolGroup
from clouds.base.throughput import ThroughputLimit
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
    """Number of machines that run pods: machines of pools, and hosts."""
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
    """Number of nodes when every pool is at its maximum; for an on-premises site, number of its hosts."""
    room: int | None
    """Number of nodes, with their pods, for which the ranges have addresses; ``None`` when the cloud does not know."""
    room_left: int | None
    """Number of nodes for which addresses are left; ``None`` when the cloud does not know."""
    control_plane: bool
    """True when the control plane is here."""
    existing: tuple[str, ...]
    """Phrases about the existing cloud resources that the site uses."""


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
    """Number of machines that may be lost at once while the role still works: an etcd cluster keeps its quorum, and at
    least one API server is left."""
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
    """The member of the main etcd cluster that never votes; None without one."""
    learner_type: str
    """The learner's machine type; empty without a learner."""


@dataclass(frozen=True, kw_only=True)
class PoolOverview:
    """A pool in a cloud."""

    name: str
    site: str
    machine_type: str
    nodes: Bounds
    spare: int
    """Number of nodes that are kept free for future work."""
    vcpus: int
    """Virtual cores of one machine."""
    memory_gib: int
    """Memory of one machine, GiB."""
    gpus_each: int
    gpus: GpuCount
    spot: bool
    reserved: str
    """Reserved capacity in words, a Capacity Block with its days; empty without one."""
    priority: int
    """Pools with a lower number are filled first."""
    fallbacks: tuple[str, ...]
    groups: tuple[PoolGroup, ...]
    """Auto scaling group, or scale sets."""


@dataclass(frozen=True, kw_only=True)
class GatewayView:
    """A machine at which the tunnels of an on-premises site end."""

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
    """Range of the host's pods, which the site's routers route to the host."""


@dataclass(frozen=True, kw_only=True)
class HostsView:
    """Hosts of one on-premises site."""

    site: str
    hosts: int
    room: int
    """Number of hosts for which the site's block has room."""
    gpus: tuple[GpuCount, ...]
    first: IPv4Address | None
    """Lowest address of a host; ``None`` when there is no host."""
    last: IPv4Address | None
    """Highest address of a host; ``None`` when there is no host."""
    gateways: tuple[GatewayView, ...]
    machines: tuple[HostView, ...]
    """Hosts in the order of their addresses."""


@dataclass(frozen=True, kw_only=True)
class LinkView(PlannedLink):
    """A link between two sites, with its throughput."""

    limit: ThroughputLimit | None
    """Largest throughput, and what sets it; None when nothing is published or declared."""
    wanted_mbit: int | None
    """Throughput that the file wants, Mbit/s; None when it wants none."""


@dataclass(frozen=True, kw_only=True)
class CloudName:
    """Name of one of a site's main resources in its cloud."""

    site: str
    what: str
    """Kind of resource in words, such as ``resource group``."""
    name: str
    """Its name. For an AWS network, this is the tag ``Name``, or the ID of an existing network."""
    pool: str = ""
    """Pool that it belongs to; empty for none."""
    existing: bool = False
    """True when it existed before the environment."""


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Everything that ``show`` knows about an environment."""

    name: str
    domain: str
    supernet: IPv4Network
    services: IPv4Network
    kubernetes_service: IPv4Address
    dns_service: IPv4Address
    operators: IPv4Network
    laptops: IPv4Network
    """Addresses of laptops inside the VPN's tunnels."""
    pod_mtu: int
    """Largest packet of a pod, bytes."""
    totals: Totals
    sites: tuple[SiteView, ...]
    control_plane: ControlPlaneView
    pools: tuple[PoolOverview, ...]
    """Site by site, in the file's order."""
    autoscaler: str
    """``acts``; ``looks``, when it only reports what it would do; or ``off``."""
    hosts: tuple[HostsView, ...]
    people: PeopleView
    queues: bool
    """True when jobs queue for teams' shares of the capacity."""
    links: tuple[LinkView, ...]
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
    """Return the pools of one site that are shown: all, or the first ``most``. A single further pool is shown too,
    because a line that mentions it would be no shorter."""
    return pools if most is None or len(pools) <= most + 1 else pools[:most]
