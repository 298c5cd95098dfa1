"""Fixed addresses of the lab, and the plan that one environment adds to them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

INTERNET = IPv4Network("198.51.100.0/24")
"""TEST-NET-2 (RFC 5737). Addresses .1, .10, .11 and .53 belong to the lab, .2 to .9 to operators, .20 and up to the
racks' gateways, .64 to .127 to the clouds, and .128 and up to the racks' NATs."""
INTERNET_GATEWAY = IPv4Address("198.51.100.1")
OPERATOR_PUBLIC = IPv4Address("198.51.100.2")
OPERATORS_PUBLIC = tuple(OPERATOR_PUBLIC + number for number in range(8))
"""Addresses of operators on the internet, one for each environment."""
SERVICES = IPv4Address("198.51.100.10")
"""Address of all cloud APIs."""
DEPOT = IPv4Address("198.51.100.11")
"""Address of the depot, on the internet and on every router."""
DEPOT_NAME = "depot.longhaul.internal"
HOSTS_EGRESS = IPv4Address("198.51.100.128")
"""Address of the first rack site's NAT; the other sites have the next addresses."""
INTERNET_DNS = IPv4Address("198.51.100.53")
OUTSIDE = IPv4Network("192.0.2.0/24")
"""TEST-NET-1 (RFC 5737): the internet beyond clouds and racks. Laptops have .2 to .9, one for each environment."""
COMPANY = IPv4Address("192.0.2.10")
"""Address of the services that the users' company runs itself, such as its identity provider."""
PLATFORM = IPv4Address("168.63.129.16")
"""Azure's DNS and health probes: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16."""
METADATA = IPv4Address("169.254.169.254")
SITE_SERVICES = IPv4Address("169.254.169.253")
"""Address at which a router serves SERVICES to subnets with a service endpoint. Machines never see it."""

CLOUD_NAMES = (
    "vault.azure.net",
    "blob.core.windows.net",
    "management.azure.com",
    "login.microsoftonline.com",
    "login.windows.net",
    "sts.windows.net",
    "amazonaws.com",
)

COMPANY_NAME = "corp.example"
"""Domain of the users' company."""
PUBLIC_NAMES = {**dict.fromkeys(CLOUD_NAMES, SERVICES), DEPOT_NAME: DEPOT, COMPANY_NAME: COMPANY}
"""Addresses by name, for names that everybody can resolve. Names below them resolve to the same addresses."""

UPLINK = "internet"
"""Name of a router's interface to the internet."""
OPERATOR_LINK = "operator"
"""Name of a router's interface to the operator. The operator's namespace has a link to each network."""
LAPTOP = "laptop"

NEAR = IPv4Address("169.254.169.250")
"""Address of a router on its links to gateways. The first network of a peering also has it on the peering's link."""
FAR = IPv4Address("169.254.169.251")
"""Address of the other end of such a link."""


@dataclass(frozen=True, kw_only=True)
class AddressRanges:
    """Ranges of one environment's address plan, and the address of its operator."""

    supernet: IPv4Network
    operators: IPv4Network
    public: IPv4Address = OPERATOR_PUBLIC
    """Address of the operator on the internet."""
    tenant: str = ""
    """Name of the environment when it is a tenant; empty for the lab's own."""

    @property
    def operator(self) -> IPv4Address:
        """Private address of the operator: the first host of the operators' range."""
        return self.operators[1]

    @property
    def place(self) -> str:
        """Name of the operator's namespace, and of the internet's interface to it."""
        return short("o", self.tenant) if self.tenant else OPERATOR_LINK

    @property
    def laptop(self) -> IPv4Address:
        """Address of the environment's laptop on the internet."""
        return OUTSIDE[int(self.public) - int(INTERNET[0])]

    @property
    def laptop_place(self) -> str:
        """Name of the laptop's namespace, and of the internet's interface to it."""
        return short("l", self.tenant) if self.tenant else LAPTOP


def short(prefix: str, name: str) -> str:
    """Return an interface name of at most 15 characters: prefix and name if they fit, else prefix and hash."""
    whole = f"{prefix}-{name}"
    if len(whole) <= 15 and all(letter.isalnum() or letter == "-" for letter in name):
        return whole
    return f"{prefix}-{hashed(name)}"


def hashed(name: str) -> str:
    """Return a short stable name for a name that is too long for an interface or a file."""
    return hashlib.blake2s(name.encode(), digest_size=5).hexdigest()


def machine_link(machine: str) -> str:
    """Return the name of a router's interface to one machine."""
    return short("m", machine)


def public_link(machine: str) -> str:
    """Return the name of the internet's interface to a machine with a public address."""
    return short("u", machine)


def gateway_link(gateway_id: str) -> str:
    """Return the name of the interface to one cloud gateway, in its router and in the internet."""
    return f"g-{hashed(gateway_id)}"


def peering_link(peering_id: str) -> str:
    """Return the name of the interface of one peering, in both routers."""
    return f"p-{hashed(peering_id)}"


def network_link(network_id: str) -> str:
    """Return the name of the interface to one router, in the internet's and in the operator's namespace."""
    return f"n-{hashed(network_id)}"


def hardware_address(machine_id: str, generation: str) -> str:
    """Return a stable MAC address with Azure's vendor prefix (00:0d:3a, Microsoft in the IEEE registry)."""
    digest = hashlib.blake2s(f"{machine_id} {generation}".encode(), digest_size=3).hexdigest()
    return ":".join(("00", "0d", "3a", digest[0:2], digest[2:4], digest[4:6]))
