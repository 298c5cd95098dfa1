"""Comparison of the public addresses of gateways in two environments' files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

from clouds.base.faults import Location


@dataclass(frozen=True, kw_only=True)
class ClaimedAddress:
    """The public address of a gateway in a file whose other parts may be invalid."""

    address: IPv4Address
    at: Location


def claimed_addresses(raw: Mapping[str, Any]) -> tuple[ClaimedAddress, ...]:
    """Return the gateways' addresses of an environment, as far as they can be read."""
    return tuple(_read(raw.get("sites")))


def shared(
    ours: tuple[ClaimedAddress, ...], others: tuple[ClaimedAddress, ...]
) -> Iterator[tuple[ClaimedAddress, ClaimedAddress]]:
    """Yield each address of ``ours`` that another environment has too, with that environment's claim."""
    there = {other.address: other for other in others}
    return ((address, there[address.address]) for address in ours if address.address in there)


def _read(sites: object) -> Iterator[ClaimedAddress]:
    for name, site in sites.items() if isinstance(sites, Mapping) else ():
        gateways = site.get("gateways") if isinstance(site, Mapping) else None
        for index, gateway in enumerate(gateways if isinstance(gateways, list) else ()):
            written = gateway.get("public_address") if isinstance(gateway, Mapping) else None
            try:
                address = IPv4Address(written if isinstance(written, str) else "")
            except ValueError:
                continue
            yield ClaimedAddress(address=address, at=("sites", name, "gateways", index, "public_address"))
