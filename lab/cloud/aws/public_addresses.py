"""Which public addresses AWS hands out in the lab."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network

from lab.cloud.aws.errors import AwsError

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
