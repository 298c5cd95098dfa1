"""Addresses of an etcd cluster's members, present and future."""

from __future__ import annotations

from components.model import AddressPlan, Environment, Role
from components.model.address_plan import role_addresses
from components.model.machines import MOST_MEMBERS

CLIENT_PORT = 2379
PEER_PORT = 2380
"""etcd's ports, as registered with IANA."""


def places(environment: Environment, addresses: AddressPlan, role: Role) -> dict[str, str]:
    """Return the address of every voting member that an etcd cluster may ever have, by name.

    The current members alone would not do: one more member would then change, and so replace, every machine that names
    them. The address plan fixes all addresses. Machines ask the etcd cluster itself which members exist (images/rootfs,
    etcd_join.py and etcd_endpoints.py).
    """
    subnet = addresses.sites[environment.control_plane.site].subnet(role)
    return {
        f"{environment.name}-{role}-{index}": str(address)
        for index, address in enumerate(role_addresses(subnet, MOST_MEMBERS))
    }
