"""Desired state of the lab, in the hypervisor's terms.

The cloud APIs store the desired state. Each cloud's translation (``lab/cloud/azure/world.py``,
``lab/cloud/aws/world.py``) turns its state into one :class:`World`, and the hypervisor makes the lab agree with it.
Nothing here depends on a cloud.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Literal, Protocol


@dataclass(frozen=True, kw_only=True)
class DesiredRule:
    """One security rule; the first match by ``priority`` (low first) decides. Empty tuples match anything."""

    name: str
    priority: int
    direction: Literal["in", "out"]
    allow: bool
    protocol: Literal["tcp", "udp", "icmp", "any"]
    sources: tuple[IPv4Network, ...] = ()
    destinations: tuple[IPv4Network, ...] = ()
    ports: tuple[tuple[int, int], ...] = ()
    """Destination ports, inclusive ranges."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route out of a subnet, to other sites."""

    destination: IPv4Network
    via: str
    """Id of a :class:`DesiredGateway` or a :class:`Peering`."""


@dataclass(frozen=True, kw_only=True)
class DesiredSubnet:
    """A range of a network. The router has its first host address, as the machines' gateway."""

    name: str
    range: IPv4Network
    egress: tuple[IPv4Address, ...] = ()
    """Public addresses of the NAT for this subnet's traffic to the internet. Each connection leaves from any of them.
    Without an address, the subnet cannot reach the internet."""
    routes: tuple[Route, ...] = ()
    """Routes of this subnet, besides those to the network itself and to its NAT."""
    service_endpoint: bool = False
    """True when the cloud's services (198.51.100.10) are reached inside the network, without any NAT."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A virtual network: one router namespace."""

    id: str
    name: str
    """Name of the network. The hypervisor shortens it for interface names, which have at most 15 characters."""
    ranges: tuple[IPv4Network, ...]
    subnets: tuple[DesiredSubnet, ...]
    names: dict[str, IPv4Address] = field(default_factory=dict)
    """Private DNS: fully qualified names and their addresses, answered inside this network."""
    public: Mapping[IPv4Address, IPv4Address] = field(default_factory=dict)
    """Public addresses, and the private address to which each is translated. Machines do not see them. The machine's
    rules apply behind the translation. Connections that the machine opens leave through its subnet's NAT, if it has
    one, else with the machine's public address."""
    metadata: bool = True
    """True when a cloud's instance metadata (169.254.169.254) answers inside."""


@dataclass(frozen=True, kw_only=True)
class DesiredMachine:
    """A virtual machine with one network interface."""

    id: str
    name: str
    """Host name, and name in the lab; unique in the environment."""
    generation: str
    """Changes when the cloud makes a new machine under the same name; disks and identity then start afresh."""
    network: str
    """Id of the :class:`Network`."""
    address: IPv4Interface
    routed: tuple[IPv4Network, ...] = ()
    """Ranges, besides its address, that the network delivers to this machine and from which the machine may send: its
    pods' prefix or secondary addresses, or for a rack's gateway the other sites' blocks. Rules apply to these ranges as
    to the address."""
    public: IPv4Address | None = None
    """Address of a second interface, ``eth1``, on the internet itself; a rack's gateway has one."""
    rules: tuple[DesiredRule, ...]
    """All rules that apply to this interface: those of its groups, its subnet's groups and the cloud's defaults,
    merged."""
    image: str
    user_data: bytes
    running: bool = True
    deallocated: bool = False
    """True when a stopped machine has left its physical host, and has therefore lost its local disks."""
    local_ssd_gib: int = 0
    gpus: int = 0
    """Number of stand-ins for GPUs, with a driver; see ``lab/nvml``."""
    network_disk: str = ""
    """Id of the network disk that holds the machine's data in place of a local one; empty when there is none."""


@dataclass(frozen=True, kw_only=True)
class DesiredProbe:
    """A load balancer's health check."""

    protocol: Literal["tcp", "http", "https"]
    port: int
    path: str = "/"
    interval_s: float = 5.0
    threshold: int = 2
    """Number of consecutive successes or failures that change the verdict."""


@dataclass(frozen=True, kw_only=True)
class DesiredBalancer:
    """An internal load balancer rule: destination NAT over healthy backends."""

    id: str
    network: str
    frontend: IPv4Address
    port: int
    backend_port: int
    backends: tuple[IPv4Address, ...]
    probe: DesiredProbe


@dataclass(frozen=True, kw_only=True)
class DesiredTunnel:
    """One IPsec tunnel of a cloud's gateway: IKEv2 with a pre-shared key; its identities are the public addresses."""

    name: str
    """Name, unique in its gateway."""
    local: IPv4Address
    """One of the gateway's public addresses."""
    remote: IPv4Address
    key: str = field(repr=False)
    local_ranges: tuple[IPv4Network, ...]
    remote_ranges: tuple[IPv4Network, ...]
    ike_proposal: str
    """Proposals in strongSwan's syntax."""
    esp_proposal: str
    ike_lifetime_s: int
    esp_lifetime_s: int
    dpd_s: int
    initiate: bool
    """True when this end initiates the tunnel."""
    carries: bool = True
    """False when the cloud routes the remote ranges elsewhere: the tunnel comes up, but drops packets that arrive for
    it."""


@dataclass(frozen=True, kw_only=True)
class DesiredGateway:
    """A cloud's VPN gateway of one network."""

    id: str
    name: str
    network: str
    """Id of the :class:`Network`."""
    addresses: tuple[IPv4Address, ...]
    """Public addresses of the gateway, on the internet."""
    tunnels: tuple[DesiredTunnel, ...] = ()
    spreads: bool = False
    """True when each address is an instance with a share of the flows to every remote range, even an instance without a
    tunnel to that range."""


@dataclass(frozen=True, kw_only=True)
class Peering:
    """Two networks of one cloud, joined by its backbone. The subnets' routes determine the traffic over it."""

    id: str
    first: str
    """Id of a :class:`Network`."""
    second: str


@dataclass(frozen=True, kw_only=True)
class World:
    """The whole desired state."""

    networks: tuple[Network, ...] = ()
    machines: tuple[DesiredMachine, ...] = ()
    load_balancers: tuple[DesiredBalancer, ...] = ()
    gateways: tuple[DesiredGateway, ...] = ()
    peerings: tuple[Peering, ...] = ()
    network_disks: frozenset[str] = frozenset()
    """Ids of the network disks. They outlive the machines that have them. A new disk of the same name has a new id."""

    def __add__(self, other: World) -> World:
        """Return the union of two worlds that have no object in common, such as clouds and racks."""
        return World(
            networks=self.networks + other.networks,
            machines=self.machines + other.machines,
            load_balancers=self.load_balancers + other.load_balancers,
            gateways=self.gateways + other.gateways,
            peerings=self.peerings + other.peerings,
            network_disks=self.network_disks | other.network_disks,
        )


@dataclass(frozen=True, kw_only=True)
class MachineState:
    """State of one machine, as the hypervisor sees it."""

    phase: Literal["absent", "starting", "running", "stopped", "failed"]
    generation: str = ""
    reason: str = ""
    reported: bool = False
    """True when the guest has reported to the cloud. It does so before it processes its user data."""


@dataclass(frozen=True, kw_only=True)
class TunnelState:
    """State of one tunnel of a gateway, as the hypervisor sees it."""

    up: bool
    since: float = 0.0
    """Time at which the tunnel last came up or went down, in seconds since the epoch; 0 when it has never been up."""
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """Result of a command inside a machine."""

    exit_code: int
    stdout: str
    stderr: str


class Hypervisor(Protocol):
    """Interface of the hypervisor for the cloud APIs."""

    async def apply(self, world: World) -> None:
        """Follow ``world``; return once it has been handled, while machines may still be starting. Idempotent."""

    def machine_state(self, machine_id: str) -> MachineState:
        """Return the state of one machine; it is ``running`` once its cloud-init has finished."""

    def has_room(self, machine_ids: Collection[str]) -> bool:
        """Return whether the host has room for one more node, in addition to the machines of ``machine_ids`` that have
        not started yet."""

    async def wait_settled(self, machine_id: str, *, timeout_s: float) -> MachineState:
        """Wait until one machine has its desired state (``running``, ``stopped`` or ``absent``) or is ``failed``.

        Raise TimeoutError when that takes too long.
        """

    async def wait_reported(self, machine_id: str, *, timeout_s: float) -> MachineState:
        """Wait until the guest of one machine has reported, or the machine is settled.

        Raise TimeoutError when that takes too long.
        """

    async def switch_on(self, machine_id: str) -> None:
        """Start a machine that should run, even if it was switched off at its power switch or switched itself off."""

    def tunnel_states(self, gateway_id: str) -> Mapping[str, TunnelState]:
        """Return the state of each tunnel of a gateway by name; empty while there is no such gateway."""

    async def run(self, machine_id: str, script: str, *, timeout_s: float) -> CommandResult:
        """Run a shell script as root inside a machine, as the cloud's agent would."""
