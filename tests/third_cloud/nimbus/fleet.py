"""Pools in Nimbus: flocks, whose machines (birds) are replaced in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clouds.base.errors import CloudError
from clouds.base.fleet import Group, Machine
from clouds.base.place import Place
from clouds.base.refusals import Refusal
from nimbus import groups
from nimbus.api import account, save
from nimbus.site import NimbusSite


class Flock:
    """One group of a pool."""

    in_place = True
    ends_at_once = 1

    def __init__(self, name: str) -> None:
        self._name = name

    def look(self) -> Group:
        """Return all birds, each with whether its image is the flock's."""
        _, flock = self._asked()
        birds = tuple(
            Machine(id=name, node=name, current=image == flock["image"]) for name, image in flock["birds"].items()
        )
        return Group(target=flock["image"], wanted=flock["size"], machines=birds)

    def replace(self, machine: Machine) -> None:
        """Give the bird the flock's image."""
        all_, flock = self._asked()
        flock["birds"][machine.id] = flock["image"]
        save(all_)

    def rebuild(self, machine: Machine) -> None:
        """Do the same again: nothing of the old bird may remain."""
        self.replace(machine)

    def remake(self, machine: Machine) -> None:
        """Replace, then rebuild."""
        self.replace(machine)
        self.rebuild(machine)

    def size(self) -> int:
        return int(self._asked()[1]["size"])

    def resize(self, count: int) -> None:
        all_, flock = self._asked()
        flock["size"] = count
        save(all_)

    def end(self, machines: Sequence[str]) -> None:
        """Refuse: the cloud ends no machine by its name."""
        raise CloudError(f"{self._name}: Nimbus ends the machines that it chooses, and none by its id")

    def made_at(self, _machines: Sequence[Machine]) -> dict[str, str]:
        """Return nothing: Nimbus does not tell."""
        return {}

    def refusals(self) -> tuple[Refusal, ...]:
        """Return nothing: Nimbus has room for every bird."""
        return ()

    def console(self, machine: Machine) -> str:
        return f"nimbus tail {machine.id}"

    def _asked(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the account and the flock in it."""
        all_ = account()
        if self._name not in all_.get("flocks", {}):
            raise CloudError(f"Nimbus has no flock {self._name}: `longhaul up` makes it")
        return all_, all_["flocks"][self._name]


def of_pool(place: Place[NimbusSite], name: str, /) -> dict[str, Flock]:
    """Return the pool's flocks, each to be filled before the next."""
    return {group.name: Flock(group.name) for group in groups.of_pool(place, name)}
