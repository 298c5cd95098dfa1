"""Checks of parts in Nimbus that are named instead of made; they need the file alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clouds.base.fault import Fault
from clouds.base.place import Place
from nimbus.site import NimbusSite


def faults(place: Place[NimbusSite], earlier: Sequence[Place[NimbusSite]], /) -> Iterator[Fault]:
    """Yield projects that differ: one project pays for all sites."""
    for first in earlier[:1]:
        if first.site.project != place.site.project:
            wrong = f"{place.site.project} is not {first.site.project}, the project of {first.name}"
            basis = (("sites", first.name, "project"),)
            yield Fault(at=("sites", place.name, "project"), wrong=wrong, write=first.site.project, basis=basis)


def network(site: NimbusSite, /) -> tuple[str, str] | None:
    """Return the key and the id of the fabric that is named."""
    named = site.existing.fabric
    return None if named is None else ("fabric", named)
