"""Free addresses: private ones and /28 prefixes of a subnet, as EC2 chooses them, and the lab's public ones. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Network

from lab.cloud.aws.errors import AwsError

RESERVED_FIRST = 4
"""The network, the router, the name server and one for future use, and the last address besides:
docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html."""
PREFIX_LENGTH = 28
"""docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-prefix-eni.html."""


def free_address(
    subnet: IPv4Network, *, taken: Collection[IPv4Network], reservations: Sequence[IPv4Network]
) -> IPv4Address | None:
    """The lowest address outside all reservations that nobody has; None when the subnet is full."""
    address = int(subnet.network_address) + RESERVED_FIRST
    while address < int(subnet.broadcast_address):
        found = IPv4Network((address, 32))
        holder = _holder(found, [*reservations, *taken])
        if holder is None:
            return found.network_address
        address = int(holder.broadcast_address) + 1
    return None


def free_prefix(
    subnet: IPv4Network, *, taken: Collection[IPv4Network], reservations: Sequence[IPv4Network]
) -> IPv4Network | None:
    """The lowest free /28: in a reservation for prefixes where the subnet has one, else anywhere in the subnet."""
    for range_ in sorted(reservations) or [subnet]:
        start = int(range_.network_address)
        while start + (1 << (32 - PREFIX_LENGTH)) - 1 <= int(range_.broadcast_address):
            found = IPv4Network((start, PREFIX_LENGTH))
            holder = _holder(found, taken) or _edge(found, subnet)
            if holder is None:
                return found
            start = max(int(holder.broadcast_address) | 15, int(found.broadcast_address)) + 1
    return None


def _holder(wanted: IPv4Network, taken: Collection[IPv4Network]) -> IPv4Network | None:
    return next((range_ for range_ in taken if range_.overlaps(wanted)), None)


def _edge(wanted: IPv4Network, subnet: IPv4Network) -> IPv4Network | None:
    """The /28 at either end of a subnet holds addresses that EC2 keeps for itself."""
    edges = (subnet.network_address, subnet.broadcast_address)
    return wanted if any(edge in wanted for edge in edges) else None


RANGE = IPv4Network("198.51.100.96/27")
"""AWS's share of the lab's internet; Azure has the /27 before it. Elastic addresses and the outside of tunnels."""


def next_public(used: Collection[IPv4Address]) -> IPv4Address:
    """The lowest address that nobody has.

    Raises:
        AwsError: all 32 are taken.
    """
    for address in RANGE:
        if address not in used:
            return address
    raise AwsError("AddressLimitExceeded", f"The lab's AWS has {RANGE.num_addresses} public addresses; all are in use.")
