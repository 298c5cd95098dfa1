"""A site's cached list: when it is read, what counts as absence, and that a failure changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

import pytest

from clouds.base.errors import CloudError
from clouds.base.machine_lists import ListedMachine, Presence
from services.node_controller.inventory import Inventory


class Source:
    site, apart_s = "use1", 0.0

    def __init__(self, *names: str) -> None:
        self.names, self.broken = list(names), False
        self.listings, self.questions = 0, list[list[str]]()
        self.asked = threading.Event()

    def everything(self) -> Mapping[str, ListedMachine]:
        self.listings += 1
        self.asked.set()
        if self.broken:
            raise CloudError("no answer")
        return {name: machine(name) for name in self.names}

    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        self.questions.append(list(names))
        self.asked.set()
        if self.broken:
            raise CloudError("no answer")
        return {name: machine(name) for name in names if name in self.names}


def machine(name: str) -> ListedMachine:
    return ListedMachine(name=name, site="use1", pool="cpu", addresses=frozenset(["10.65.128.4"]))


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture(name="source")
def _source() -> Source:
    return Source("i-1", "i-2")


@pytest.fixture(name="inventory")
def _inventory(source: Source) -> Inventory:
    return Inventory(source, clock=Clock())


def test_before_the_first_listing_nothing_is_known(inventory: Inventory) -> None:
    assert inventory.machine("i-1") is None
    assert inventory.absent_since("i-1") == -1
    assert inventory.missed("i-1") == 0


def test_absence_is_counted_in_complete_listings(source: Source, inventory: Inventory) -> None:
    inventory.list()
    assert (inventory.missed("i-1"), inventory.missed("i-3")) == (0, 1)
    source.names.remove("i-1")
    inventory.list()
    assert (inventory.missed("i-1"), inventory.missed("i-3")) == (1, 2)
    inventory.list()
    assert inventory.missed("i-1") == 2
    source.names.append("i-1")
    inventory.list()
    assert inventory.missed("i-1") == 0
    assert inventory.count() == 2


def test_a_failure_changes_nothing(source: Source, inventory: Inventory) -> None:
    inventory.list()
    at = inventory.listed_at
    source.broken = True
    for attempt in (inventory.list, lambda: (inventory.want("i-3"), inventory.ask())):
        with pytest.raises(CloudError):
            attempt()
    assert inventory.machine("i-1") is not None
    assert (inventory.missed("i-1"), inventory.missed("i-3"), inventory.listed_at) == (0, 1, at)
    assert inventory.absent_since("i-3") == at


def test_a_question_finds_what_came_since(source: Source, inventory: Inventory) -> None:
    inventory.list()
    at = inventory.listed_at
    source.names.append("i-3")
    for name in ("i-3", "i-4"):
        inventory.want(name)
    inventory.ask()
    assert source.questions == [["i-3", "i-4"]]
    assert inventory.machine("i-3") is not None
    assert inventory.missed("i-3") == 0
    assert inventory.absent_since("i-4") > at
    assert inventory.absent_since("i-3") == -1
    # The answer says nothing about other machines, and is no listing.
    assert inventory.missed("i-4") == 1
    inventory.ask()
    assert len(source.questions) == 1


def test_ended_machines_are_not_counted(inventory: Inventory, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = ListedMachine(name="i-1", site="use1", pool="cpu", addresses=frozenset(), presence=Presence.ENDED)
    monkeypatch.setattr(source, "everything", lambda: {"i-1": ended, "i-2": machine("i-2")})
    inventory.list()
    assert inventory.count() == 1
    assert inventory.missed("i-1") == 0


def test_it_lists_at_first_and_answers_a_question_at_once(source: Source) -> None:
    answered = threading.Event()
    inventory = Inventory(source, changed=answered.set)
    stop = threading.Event()
    thread = threading.Thread(target=inventory.run, args=(stop,))
    thread.start()
    try:
        assert answered.wait(60)
        assert source.listings == 1
        answered.clear()
        source.names.append("i-3")
        inventory.want("i-3")
        assert answered.wait(60)
        assert inventory.machine("i-3") is not None
        source.broken = True
        answered.clear()
        inventory.want("i-4")
        assert answered.wait(60)
        assert inventory.failure == "no answer"
        source.broken = False
        answered.clear()
        inventory.want("i-4")
        assert answered.wait(60)
        assert inventory.failure == ""
        assert source.listings == 1
    finally:
        stop.set()
        inventory.wake()
        thread.join(60)
    assert not thread.is_alive()
