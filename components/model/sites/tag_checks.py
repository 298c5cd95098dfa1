"""Check for tags that the clouds would refuse, or drop without an error, in the middle of `longhaul up`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.base.faults import Fault, Location
from clouds.base.place import Place
from clouds.base.tag_rules import VALUE
from clouds.registry import clouds
from components.model.environment import Environment
from components.model.sites.places import place_of
from contract.tag_keys import TAG_PREFIX


def check_tags(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each tag that a cloud of the environment does not accept, and one for too many tags."""
    asked = [(cloud.tags, places) for kind, cloud in clouds().items() if (places := _places(environment, kind))]
    limits = [most for tags, places in asked if (most := tags.limit(places)) is not None]
    if not limits:
        return
    basis: tuple[Location, ...] = tuple(
        ("sites", name, "kind") for name, site in environment.sites.items() if clouds()[site.kind].rents
    )
    first: dict[str, str] = {}
    for key, value in environment.tags.items():
        faults = (
            _again(key, first.setdefault(key.lower(), key)),
            _reserved_fault(key),
            *(tags.fault(key, value, places) for tags, places in asked),
            (f"has a value of {len(value)} characters", f"a value of at most {VALUE}") if len(value) > VALUE else None,
        )
        if (fault := next(filter(None, faults), None)) is not None:
            wrong, write = fault
            yield Fault(at=("tags", key), wrong=f"{key!r} {wrong}", write=write, basis=basis)
    most = min(limits, key=lambda most: most.count)
    if len(environment.tags) > most.count:
        wrong = f"has {len(environment.tags)} entries, and with Longhaul's own that is more than {most.whose} can have"
        yield Fault(at=("tags",), wrong=wrong, write=f"at most {most.count} entries", basis=basis)


def _places(environment: Environment, kind: str) -> list[Place[Any]]:
    return [place_of(environment, name) for name, site in environment.sites.items() if site.kind == kind]


def _again(key: str, earlier: str) -> tuple[str, str] | None:
    if key == earlier:
        return None
    return f"is {earlier!r} in another case, which Azure treats as the same", "one of them"


def _reserved_fault(key: str) -> tuple[str, str] | None:
    if key.lower().startswith(TAG_PREFIX) or key.lower() == "name":
        return "is a tag of Longhaul's own", "another name"
    return None if key else ("is no name", "a name")
