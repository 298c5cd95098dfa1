"""Search for a free private range for a whole environment."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import IPv4Network

from clouds.base.ranges import PRIVATE

OFFERED_PREFIX = 12
"""Prefix length of the range that is offered: room for fifteen sites of /16 (docs/address-plan.md)."""


def free(taken: Collection[IPv4Network], *, prefix: int = OFFERED_PREFIX) -> IPv4Network | None:
    """Return the first private range of ``prefix`` bits that overlaps none of ``taken``; ``None`` when there is
    none."""
    return next(
        (candidate for candidate in _candidates(prefix) if not any(candidate.overlaps(other) for other in taken)), None
    )


def _candidates(prefix: int) -> Iterator[IPv4Network]:
    for private in PRIVATE:
        if private.prefixlen <= prefix:
            yield from private.subnets(new_prefix=prefix)
