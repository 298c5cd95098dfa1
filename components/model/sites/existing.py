"""Checks of existing resources that the file names; these checks need only the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.base.faults import Fault, Location
from clouds.base.place import Place
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.sites.places import place_of


def check_existing(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each named resource that does not fit the rest of the file."""
    taken: dict[str, Location] = {}
    places: dict[str, list[Place[Any]]] = {}
    for name, site in environment.sites.items():
        checks, place = cloud_of(site).checks, place_of(environment, name)
        earlier = places.setdefault(site.kind, [])
        yield from checks.faults(place, earlier)
        earlier.append(place)
        if (named := checks.network(site)) is not None:
            key, network = named
            at = ("sites", name, "existing", key)
            yield from _network(name, network, at, taken, written=site.range is not None)


def _network(name: str, network: str, at: Location, taken: dict[str, Location], *, written: bool) -> Iterator[Fault]:
    earlier = taken.setdefault(network.lower(), at)
    if earlier != at:
        wrong = f"{network} is the network of {earlier[1]} already"
        yield Fault(at=at, wrong=wrong, write="a network of its own for each site", basis=(earlier,))
    if not written:
        wrong = f"a network is named, but the range of {name} in it is not"
        write = f"`range` of {name}: a block that the network holds"
        yield Fault(at=at, wrong=wrong, write=write, basis=(("sites", name, "range"),))
