"""Ranges of sites in the supernet: those that the file declares, and the next free ones for the other sites; errors of
ranges that overlap or do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network

from clouds.base.faults import Location
from clouds.base.ranges import PRIVATE
from components.model.environment import Environment


class PlanError(ValueError):
    """Raised when the ranges do not fit. ``key`` is the location of the wrong value, ``write`` the value to write
    instead."""

    def __init__(self, *, key: Location, wrong: str, write: str) -> None:
        super().__init__(f"{'.'.join(map(str, key))}: {wrong}")
        self.key, self.wrong, self.write = key, wrong, write


def nth_subnet(network: IPv4Network, prefix: int, index: int) -> IPv4Network:
    """Return subnet ``index`` of prefix length ``prefix`` inside ``network``, without listing those before it. Raise
    ``IndexError`` when ``network`` has fewer."""
    if not 0 <= index < 2 ** (prefix - network.prefixlen):
        raise IndexError(f"{network} has no /{prefix} number {index}")
    return IPv4Network((int(network.network_address) + index * 2 ** (32 - prefix), prefix))


def plan_errors(environment: Environment) -> tuple[PlanError, ...]:
    """Return every error that prevents the address plan."""
    return site_ranges(environment)[1]


def shared_range(supernet: IPv4Network) -> IPv4Network:
    """Return the last sixteenth of the supernet, which belongs to no site."""
    return nth_subnet(supernet, supernet.prefixlen + 4, 15)


def site_ranges(environment: Environment) -> tuple[dict[str, IPv4Network], tuple[PlanError, ...]]:
    """Return a block for each site in the file's order, and an error for each site that gets none."""
    supernet = environment.supernet
    refused = _supernet_error(supernet)
    if refused is not None:
        return {}, (refused,)
    taken = {"the services, operators and laptops": shared_range(supernet)}
    blocks: dict[str, IPv4Network] = {}
    errors: list[PlanError] = []
    for name, site in environment.sites.items():
        try:
            if site.range is None:
                block = _free(name, site.prefix, supernet, taken)
            else:
                block = _given(name, site.range, supernet, taken)
        except PlanError as error:
            errors.append(error)
        else:
            taken[name] = blocks[name] = block
    return blocks, tuple(errors)


def _supernet_error(supernet: IPv4Network) -> PlanError | None:
    key = ("supernet",)
    if supernet.prefixlen > 16:
        return PlanError(key=key, wrong=f"{supernet} is smaller than /16", write="a range of /16 or larger")
    if not any(supernet.subnet_of(private) for private in PRIVATE):
        inside = ", ".join(map(str, PRIVATE))
        return PlanError(key=key, wrong=f"{supernet} is not private", write=f"a range inside one of {inside}")
    return None


def _given(name: str, block: IPv4Network, supernet: IPv4Network, taken: Mapping[str, IPv4Network]) -> IPv4Network:
    """Return the block that the file declares for a site; raise ``PlanError`` when it does not fit."""
    key = ("sites", name, "range")
    if not 8 <= block.prefixlen <= 20:
        raise PlanError(key=key, wrong=f"{block} of {name} is not between /8 and /20", write="a block of that size")
    if not block.subnet_of(supernet):
        wrong = f"{block} of {name} is outside the supernet {supernet}"
        raise PlanError(key=key, wrong=wrong, write=f"a range inside {supernet}, or leave `range` out")
    clash = next((other for other, range_ in taken.items() if block.overlaps(range_)), None)
    if clash is not None:
        wrong = f"{block} of {name} overlaps {taken[clash]} of {clash}"
        free = _free_block(supernet, block.prefixlen, taken.values())
        write = "a range of its own" if free is None else f"a range of its own, such as {free}"
        raise PlanError(key=key, wrong=wrong, write=write)
    return block


def _free(name: str, prefix: int, supernet: IPv4Network, taken: Mapping[str, IPv4Network]) -> IPv4Network:
    """Return the next free block for a site without a declared range; raise ``PlanError`` when none is left."""
    block = _free_block(supernet, prefix, taken.values())
    if block is None:
        raise PlanError(
            key=("sites", name, "prefix"),
            wrong=f"no /{prefix} is left for {name} in {supernet}",
            write=f"a smaller block (a `prefix` above {prefix}), or a larger supernet",
        )
    return block


def _free_block(supernet: IPv4Network, prefix: int, taken: Iterable[IPv4Network]) -> IPv4Network | None:
    """Return the first free block of prefix length ``prefix``, or ``None``. The search jumps past each range in use, so
    that its cost depends on the number of ranges only."""
    size = 2 ** (32 - prefix)
    start = int(supernet.network_address)
    for range_ in sorted(taken):
        if start + size <= int(range_.network_address):
            break
        end = int(range_.broadcast_address) + 1
        start = max(start, -(-end // size) * size)
    fits = start + size - 1 <= int(supernet.broadcast_address)
    return IPv4Network((start, prefix)) if fits else None
