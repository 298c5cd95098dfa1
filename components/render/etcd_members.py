"""Addresses of an etcd cluster's present and future members."""

from __future__ import annotations

from components.model import AddressPlan, Environment, Role
from components.model.control_plane.machines import MOST_MEMBERS
from components.model.network.address_plan import machine_capacity, role_addresses


def places(environment: Environment, addresses: AddressPlan, role: Role) -> dict[str, str]:
    """Return the address of every voting member that an etcd cluster may ever have, by name.

    The current members alone are not enough: one more member would change, and so replace, every machine that names
    them. The address plan fixes all addresses; the smallest block has fewer than seven, and validation allows no more
    members than that. Machines ask the etcd cluster itself which members exist (etcd/join.py and
    kube_apiserver/etcd_endpoints.py in images/rootfs).
    """
    subnet = addresses.sites[environment.control_plane.site].subnet(role)
    most = min(MOST_MEMBERS, machine_capacity(subnet))
    return {
        f"{environment.name}-{role}-{index}": str(address) for index, address in enumerate(role_addresses(subnet, most))
    }
