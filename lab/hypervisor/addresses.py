"""The lab's fixed addresses and the plan that one environment adds to them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

INTERNET = IPv4Network("198.51.100.0/24")
"""TEST-NET-2 (RFC 5737). Addresses .1, .10, .11 and .53 are the lab's, .2 to .9 the operators', .20 and up the racks'
gateways', .64 to .127 the clouds', .128 and up the racks' NATs."""
INTERNET_GATEWAY = IPv4Address("198.51.100.1")
OPERATOR_PUBLIC = IPv4Address("198.51.100.2")
OPERATORS_PUBLIC = tuple(OPERATOR_PUBLIC + number for number in range(8))
"""Where operators can be on the internet: each environment's has an address of its own."""
SERVICES = IPv4Address("198.51.100.10")
"""All cloud APIs."""
DEPOT = IPv4Address("198.51.100.11")
"""The depot: on the internet, and on every router."""
DEPOT_NAME = "depot.longhaul.internal"
RACKS_EGRESS = IPv4Address("198.51.100.128")
"""NAT of the first rack site; the others' follow."""
INTERNET_DNS = IPv4Address("198.51.100.53")
PLATFORM = IPv4Address("168.63.129.16")
"""Azure's DNS and health probes: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16."""
METADATA = IPv4Address("169.254.169.254")
SITE_SERVICES = IPv4Address("169.254.169.253")
"""Where a router serves SERVICES to subnets with a service endpoint. Machines never see this address."""

CLOUD_NAMES = (
    "vault.azure.net",
    "blob.core.windows.net",
    "management.azure.com",
    "login.microsoftonline.com",
    "login.windows.net",
    "sts.windows.net",
    "amazonaws.com",
)

UPLINK = "internet"
"""A router's interface towards the internet."""
OPERATOR_LINK = "operator"
"""A router's interface towards the operator, standing in for the laptops' VPN."""

NEAR = IPv4Address("169.254.169.250")
"""A router's own address on its links to gateways and, as the first of the two, on peerings."""
FAR = IPv4Address("169.254.169.251")
"""The other end of such a link."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one environment gives the lab: the ranges of its address plan, and its operator's place."""

    supernet: IPv4Network
    operators: IPv4Network
    public: IPv4Address = OPERATOR_PUBLIC
    """The operator's address on the internet."""
    guest: str = ""
    """The environment's name, when the lab is another's; empty for the lab's own."""

    @property
    def operator(self) -> IPv4Address:
        """The operator's own address: the first host of the operators' range."""
        return self.operators[1]

    @property
    def place(self) -> str:
        """The operator's namespace, and the internet's interface towards it."""
        return short("o", self.guest) if self.guest else OPERATOR_LINK


def short(prefix: str, name: str) -> str:
    """An interface name of at most 15 characters: the name itself where it fits, else its head and a hash."""
    whole = f"{prefix}-{name}"
    if len(whole) <= 15 and all(letter.isalnum() or letter == "-" for letter in name):
        return whole
    return f"{prefix}-{hashed(name)}"


def hashed(name: str) -> str:
    """A short stable name for something whose own does not fit an interface or a file name."""
    return hashlib.blake2s(name.encode(), digest_size=5).hexdigest()


def machine_link(machine: str) -> str:
    """A router's interface towards one machine."""
    return short("m", machine)


def public_link(machine: str) -> str:
    """The internet's interface towards a machine with a public address."""
    return short("u", machine)


def gateway_link(gateway_id: str) -> str:
    """The interface towards one cloud gateway, in its router and in the internet."""
    return f"g-{hashed(gateway_id)}"


def peering_link(peering_id: str) -> str:
    """The interface of one peering, in both routers."""
    return f"p-{hashed(peering_id)}"


def network_link(network_id: str) -> str:
    """The interface towards one router, in the internet's and in the operator's namespace."""
    return f"n-{hashed(network_id)}"


def hardware_address(machine_id: str, generation: str) -> str:
    """A stable MAC address with Azure's vendor prefix (00:0d:3a, Microsoft in the IEEE registry)."""
    digest = hashlib.blake2s(f"{machine_id} {generation}".encode(), digest_size=3).hexdigest()
    return ":".join(("00", "0d", "3a", digest[0:2], digest[2:4], digest[4:6]))
