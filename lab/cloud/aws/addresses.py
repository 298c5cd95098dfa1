"""Chooses free addresses: private addresses and /28 prefixes of a subnet, as EC2 does, and the lab's public addresses.

Nothing here has side effects.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Network

from lab.cloud.aws.errors import AwsRefusalError

RESERVED_FIRST = 4
"""Number of addresses that AWS reserves at a subnet's start: network, router, name server and one for future use. The
last address is reserved too: docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html."""
PREFIX_LENGTH = 28
"""Length of an assigned prefix: docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html."""


def free_address(
    subnet: IPv4Network, *, taken: Collection[IPv4Network], reservations: Sequence[IPv4Network]
) -> IPv4Address | None:
    """Return the lowest free address outside all reservations; None when the subnet is full."""
    address = int(subnet.network_address) + RESERVED_FIRST
    while address < int(subnet.broadcast_address):
        candidate = IPv4Network((address, 32))
        holder = _holder(candidate, [*reservations, *taken])
        if holder is None:
            return candidate.network_address
        address = int(holder.broadcast_address) + 1
    return None


def free_prefix(
    subnet: IPv4Network, *, taken: Collection[IPv4Network], reservations: Sequence[IPv4Network]
) -> IPv4Network | None:
    """Return the lowest free /28 of a subnet; None when there is none. If the subnet has reservations for prefixes, the
    /28 lies in one of them."""
    for range_ in sorted(reservations) or [subnet]:
        start = int(range_.network_address)
        while start + (1 << (32 - PREFIX_LENGTH)) - 1 <= int(range_.broadcast_address):
            candidate = IPv4Network((start, PREFIX_LENGTH))
            holder = _holder(candidate, taken) or _edge(candidate, subnet)
            if holder is None:
                return candidate
            start = max(int(holder.broadcast_address) | 15, int(candidate.broadcast_address)) + 1
    return None


def _holder(wanted: IPv4Network, taken: Collection[IPv4Network]) -> IPv4Network | None:
    return next((range_ for range_ in taken if range_.overlaps(wanted)), None)


def _edge(wanted: IPv4Network, subnet: IPv4Network) -> IPv4Network | None:
    """Return the /28 when it holds the subnet's first or last address, which EC2 keeps for itself; else None."""
    edges = (subnet.network_address, subnet.broadcast_address)
    return wanted if any(edge in wanted for edge in edges) else None


RANGE = IPv4Network("198.51.100.96/27")
"""AWS's share of the lab's internet, for Elastic IPs and the outside addresses of tunnels. The /27 before it is
Azure's."""


def next_public(used: Collection[IPv4Address]) -> IPv4Address:
    """Return the lowest free public address.

    Raises:
        AwsRefusalError: all 32 are taken.
    """
    for address in RANGE:
        if address not in used:
            return address
    raise AwsRefusalError(
        "InsufficientAddressCapacity", f"The lab's AWS has {RANGE.num_addresses} public addresses; all are in use."
    )
