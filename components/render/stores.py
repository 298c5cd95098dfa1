"""Where a store's members are, now and later."""

from __future__ import annotations

from components.model import AddressPlan, Environment, Role
from components.model.network import role_addresses

MOST_MEMBERS = 7
"""Members a store may ever have: what the model admits at most, and etcd's own advice (etcd.io, "FAQ")."""

CLIENT_PORT = 2379
PEER_PORT = 2380
"""etcd's ports, as registered with IANA."""


def places(environment: Environment, addresses: AddressPlan, role: Role) -> dict[str, str]:
    """Address of every member the store may ever have, by name.

    Not of those it has today: then one more member would change, and so replace, every machine that names them. The
    address plan fixes all of them, and which exist is asked of the store itself (images/rootfs, etcd_join.py and
    etcd_endpoints.py).
    """
    subnet = addresses.sites[environment.control_plane.site].subnet(role)
    return {
        f"{environment.name}-{role}-{index}": str(address)
        for index, address in enumerate(role_addresses(subnet, MOST_MEMBERS))
    }
