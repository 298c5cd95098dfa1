"""A pool in Nimbus: flocks, whose birds are made anew in their places."""

from __future__ import annotations

from typing import Any

from clouds.base.errors import CloudError
from clouds.base.fleet import Group, Machine
from clouds.base.place import Place
from nimbus import groups
from nimbus.api import account, save
from nimbus.site import NimbusSite


class Flock:
    """One group."""

    in_place = True

    def __init__(self, name: str) -> None:
        self._name = name

    def look(self) -> Group:
        """All its birds, by the images that they were made from."""
        _, flock = self._asked()
        birds = tuple(
            Machine(id=name, node=name, current=image == flock["image"]) for name, image in flock["birds"].items()
        )
        return Group(target=flock["image"], wanted=flock["size"], machines=birds)

    def replace(self, machine: Machine) -> None:
        """Have the bird take over the flock's image."""
        all_, flock = self._asked()
        flock["birds"][machine.id] = flock["image"]
        save(all_)

    def rebuild(self, machine: Machine) -> None:
        """The same, once more: nothing of the old one is to stay."""
        self.replace(machine)

    def remake(self, machine: Machine) -> None:
        """Both steps."""
        self.replace(machine)
        self.rebuild(machine)

    def size(self) -> int:
        return int(self._asked()[1]["size"])

    def resize(self, count: int) -> None:
        all_, flock = self._asked()
        flock["size"] = count
        save(all_)

    def _asked(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The account, and the flock in it."""
        all_ = account()
        if self._name not in all_.get("flocks", {}):
            raise CloudError(f"Nimbus has no flock {self._name}: `longhaul up` makes it")
        return all_, all_["flocks"][self._name]


def of_pool(place: Place[NimbusSite], name: str, /) -> dict[str, Flock]:
    """Its flocks, each to be filled before the next."""
    return {group.name: Flock(group.name) for group in groups.of_pool(place, name)}
