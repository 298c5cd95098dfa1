"""Which ranges other environments have, and one that is free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network
from pathlib import Path

OFFERED_PREFIX = 12
"""Size of the range that is offered: fifteen sites of /16 (docs/address-plan.md)."""


def taken(stacks: Path, *, but: Path) -> tuple[IPv4Network, ...]:
    """The supernets of the environments in ``stacks``, so far as they can be read; ``but`` is not looked at."""
    from components.model.load import environment_files

    found = (_supernet(path) for path in environment_files(stacks) if path != but)
    return tuple(supernet for supernet in found if supernet is not None)


def _supernet(path: Path) -> IPv4Network | None:
    """What a file claims. What else is wrong with it is `longhaul validate`'s to say."""
    from components.model import ConfigurationError
    from components.model.document import read_document
    from components.model.schema import CONFIG_KEY

    try:
        return IPv4Network(read_document(path).data["config"][CONFIG_KEY]["supernet"])
    except (ConfigurationError, KeyError, TypeError, ValueError):
        return None


def free(taken: Sequence[IPv4Network]) -> IPv4Network | None:
    """The first private range of the size offered that overlaps none of ``taken``; None when there is none."""
    return next((one for one in _candidates() if not any(one.overlaps(other) for other in taken)), None)


def _candidates() -> Iterator[IPv4Network]:
    from components.model.network import PRIVATE

    for private in PRIVATE:
        if private.prefixlen <= OFFERED_PREFIX:
            yield from private.subnets(new_prefix=OFFERED_PREFIX)
