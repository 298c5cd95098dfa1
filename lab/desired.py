"""What should exist in the lab, in the hypervisor's words.

The cloud APIs hold the desired state; each cloud's translation (``lab/cloud/azure/world.py``, later AWS) turns its
documents into one :class:`World`, and the hypervisor makes the machine agree with it. Nothing here knows of a cloud.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Literal, Protocol


@dataclass(frozen=True, kw_only=True)
class Rule:
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
    """A way out of a subnet, to other sites."""

    destination: IPv4Network
    via: str
    """The id of a :class:`Gateway` or a :class:`Peering`."""


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A range of a network. The router holds its first host address as the machines' gateway."""

    name: str
    range: IPv4Network
    egress: IPv4Address | None = None
    """Public address of the NAT that this subnet leaves through; without one there is no way out."""
    routes: tuple[Route, ...] = ()
    """Where packets of this subnet go besides the network itself and its NAT."""
    service_endpoint: bool = False
    """Whether the cloud's services (198.51.100.10) are reached inside the network, past any NAT."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A virtual network: one router namespace."""

    id: str
    name: str
    """At most 15 characters are used for interface names; the hypervisor shortens."""
    ranges: tuple[IPv4Network, ...]
    subnets: tuple[Subnet, ...]
    names: dict[str, IPv4Address] = field(default_factory=dict)
    """Private DNS: fully qualified name to address, answered inside this network."""
    metadata: bool = True
    """Whether a cloud's instance metadata (169.254.169.254) answers inside."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A virtual machine with one network interface."""

    id: str
    name: str
    """Host name and name on the lab: unique in the environment."""
    generation: str
    """Changes when the cloud made a new machine under the same name: disks and identity start afresh."""
    network: str
    """The id of the :class:`Network`."""
    address: IPv4Interface
    routed: tuple[IPv4Network, ...] = ()
    """Ranges besides its address that the network delivers to this machine, and that it may send from: its pods' prefix
    or secondary addresses; of a rack's gateway, the other sites' blocks. Rules apply to them as to the address."""
    public: IPv4Address | None = None
    """Address of a second interface, ``eth1``, on the internet itself: a rack's gateway has one."""
    rules: tuple[Rule, ...]
    """Everything that applies to this interface, subnet and interface groups and the cloud's defaults merged."""
    image: str
    user_data: bytes
    running: bool = True
    deallocated: bool = False
    """Of a machine that does not run: whether it has left its host, and so lost its local disks."""
    local_ssd_gib: int = 0


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A load balancer's health check."""

    protocol: Literal["tcp", "http", "https"]
    port: int
    path: str = "/"
    interval_s: float = 5.0
    threshold: int = 2
    """Consecutive successes or failures that change the verdict."""


@dataclass(frozen=True, kw_only=True)
class LoadBalancer:
    """An internal load balancer rule: destination NAT over healthy backends."""

    id: str
    network: str
    frontend: IPv4Address
    port: int
    backend_port: int
    backends: tuple[IPv4Address, ...]
    probe: Probe


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """One IPsec tunnel as a cloud's gateway holds it: IKEv2, a pre-shared key, identities are the public addresses."""

    name: str
    """Unique in its gateway."""
    local: IPv4Address
    """One of the gateway's public addresses."""
    remote: IPv4Address
    key: str = field(repr=False)
    local_ranges: tuple[IPv4Network, ...]
    remote_ranges: tuple[IPv4Network, ...]
    ike_proposal: str
    """In strongSwan's words."""
    esp_proposal: str
    ike_lifetime_s: int
    esp_lifetime_s: int
    dpd_s: int
    initiate: bool
    """Whether this end dials."""


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """A cloud's VPN gateway of one network."""

    id: str
    name: str
    network: str
    """The id of the :class:`Network`."""
    addresses: tuple[IPv4Address, ...]
    """Its public addresses, on the internet."""
    tunnels: tuple[Tunnel, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Peering:
    """Two networks of one cloud joined by its backbone; what is routed over it, the subnets' routes say."""

    id: str
    first: str
    """The id of a :class:`Network`."""
    second: str


@dataclass(frozen=True, kw_only=True)
class World:
    """All of it."""

    networks: tuple[Network, ...] = ()
    machines: tuple[Machine, ...] = ()
    load_balancers: tuple[LoadBalancer, ...] = ()
    gateways: tuple[Gateway, ...] = ()
    peerings: tuple[Peering, ...] = ()

    def __add__(self, other: World) -> World:
        """Both worlds at once, of clouds and racks that share nothing."""
        return World(
            networks=self.networks + other.networks,
            machines=self.machines + other.machines,
            load_balancers=self.load_balancers + other.load_balancers,
            gateways=self.gateways + other.gateways,
            peerings=self.peerings + other.peerings,
        )


@dataclass(frozen=True, kw_only=True)
class MachineState:
    """What the hypervisor sees of one machine."""

    phase: Literal["absent", "starting", "running", "stopped", "failed"]
    generation: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class TunnelState:
    """What the hypervisor sees of one tunnel of a gateway."""

    up: bool
    since: float = 0.0
    """When it last came up or went down, seconds since the epoch; 0 when never."""
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """What a command inside a machine answered."""

    exit_code: int
    stdout: str
    stderr: str


class Hypervisor(Protocol):
    """What the cloud APIs ask of the hypervisor."""

    async def apply(self, world: World) -> None:
        """Follow ``world``; returns once it has been looked at, machines may still be starting. Idempotent."""

    def machine_state(self, machine_id: str) -> MachineState:
        """The state of one machine; ``running`` once its cloud-init has finished."""

    async def wait_settled(self, machine_id: str, *, timeout_s: float) -> MachineState:
        """Await that one machine is what it should be (``running``, ``stopped`` or ``absent``) or ``failed``.

        Raises TimeoutError.
        """

    async def switch_on(self, machine_id: str) -> None:
        """Have a machine run that is to run, whoever switched it off: a hand at its switch, or itself."""

    def tunnel_states(self, gateway_id: str) -> Mapping[str, TunnelState]:
        """Each tunnel of a gateway by its name; empty while there is no such gateway."""

    async def run(self, machine_id: str, script: str, *, timeout_s: float) -> CommandResult:
        """Run a shell script as root inside a machine, as the cloud's agent would."""
