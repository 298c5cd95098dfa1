"""Choice of free addresses and prefixes."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

from hypothesis import given
from hypothesis import strategies as st

from lab.cloud.aws.addresses import free_address, free_prefix

SUBNET = IPv4Network("10.0.0.0/25")
PODS = [IPv4Network("10.0.0.32/27"), IPv4Network("10.0.0.64/26")]
TAKEN = st.lists(st.sampled_from([*SUBNET.subnets(new_prefix=32), *SUBNET.subnets(new_prefix=28)]), max_size=40)


@given(taken=TAKEN, reserved=st.booleans())
def test_an_address_is_free_and_usable(taken: list[IPv4Network], reserved: bool) -> None:
    reservations = PODS if reserved else []
    found = free_address(SUBNET, taken=taken, reservations=reservations)
    usable = [
        address for address in list(SUBNET)[4:-1] if not any(address in range_ for range_ in [*taken, *reservations])
    ]
    assert found == (usable[0] if usable else None)


@given(taken=TAKEN, reserved=st.booleans())
def test_a_prefix_is_free_and_aligned(taken: list[IPv4Network], reserved: bool) -> None:
    found = free_prefix(SUBNET, taken=taken, reservations=PODS if reserved else [])
    usable = [
        range_
        for range_ in SUBNET.subnets(new_prefix=28)
        if not any(range_.overlaps(one) for one in taken)
        and (not reserved or any(range_.subnet_of(pods) for pods in PODS))
        and SUBNET.network_address not in range_
        and SUBNET.broadcast_address not in range_
    ]
    assert found == (usable[0] if usable else None)


def test_the_first_are_ec2s_own() -> None:
    assert free_address(SUBNET, taken=[], reservations=[]) == IPv4Address("10.0.0.4")
    assert free_prefix(SUBNET, taken=[], reservations=PODS) == IPv4Network("10.0.0.32/28")
