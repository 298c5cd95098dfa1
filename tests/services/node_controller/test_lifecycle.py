"""Removal of Nodes: only when the machine is surely gone, never because a list was wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from clouds.base.machine_lists import ListedMachine, Presence
from contract.kubernetes.watch import Watch
from contract.labels import SITE_LABEL, UNCHECKED
from services.node_controller.lifecycle import LISTINGS, PATIENCE_S, Lifecycle, LostNodes, NodeSeen
from services.node_controller.node_removal import registered_nodes


@dataclass
class Site:
    """A site's list, as an inventory gives it."""

    machines: dict[str, Presence] = field(default_factory=dict)
    listings: int = LISTINGS

    def machine(self, name: str) -> ListedMachine | None:
        presence = self.machines.get(name)
        return presence and ListedMachine(name=name, site="use1", pool="cpu", addresses=frozenset(), presence=presence)

    def missed(self, name: str) -> int:
        return 0 if name in self.machines else self.listings


class Watcher:
    def __init__(self) -> None:
        self.now, self.alive = 0.0, set[str]()
        self.lifecycle = Lifecycle(clock=lambda: self.now)

    def look(self, lists: Mapping[str, Site], *names: str, site: str = "use1") -> LostNodes:
        nodes = [NodeSeen(name=name, site=site) for name in names]
        return self.lifecycle.look(nodes, lists, fresh=lambda name: name in self.alive)


@pytest.fixture(name="watcher")
def _watcher() -> Watcher:
    return Watcher()


def names(count: int, prefix: str = "i") -> list[str]:
    return [f"{prefix}-{index:04}" for index in range(count)]


def test_a_machine_that_has_ended_takes_its_node_with_it(watcher: Watcher) -> None:
    # At once, however many they are: the cloud reports the end of each.
    lost = watcher.look({"use1": Site(dict.fromkeys(names(50), Presence.ENDED))}, *names(50)).lost
    assert set(lost) == set(names(50))
    assert "the cloud says" in lost["i-0000"]


@pytest.mark.parametrize("presence", [Presence.THERE, Presence.ENDING])
def test_a_machine_that_is_there_keeps_it_however_silent(watcher: Watcher, presence: Presence) -> None:
    found = watcher.look({"use1": Site({"i-0": presence})}, "i-0")
    assert (dict(found.lost), dict(found.suspects)) == ({}, {})


def test_absence_is_believed_after_two_complete_listings(watcher: Watcher) -> None:
    for listings in range(LISTINGS):
        assert watcher.look({"use1": Site(listings=listings)}, "i-0").lost == {}
    assert set(watcher.look({"use1": Site(listings=LISTINGS)}, "i-0").lost) == {"i-0"}


def test_who_renews_its_lease_is_not_gone(watcher: Watcher) -> None:
    watcher.alive.add("i-0")
    assert watcher.look({"use1": Site()}, "i-0").lost == {}
    watcher.alive.clear()
    assert set(watcher.look({"use1": Site()}, "i-0").lost) == {"i-0"}


def test_a_list_that_lacks_many_at_once_is_not_believed(watcher: Watcher) -> None:
    all_ = names(40)
    few = Site(dict.fromkeys(all_[4:], Presence.THERE))
    many = Site(dict.fromkeys(all_[5:], Presence.THERE))
    assert len(watcher.look({"use1": few}, *all_).lost) == 4
    found = watcher.look({"use1": many}, *all_)
    assert found.lost == {}
    assert found.suspects == {"use1": "5 of 40 nodes are not in its list, and at most 4 are believed at once"}


def test_an_empty_list_touches_nothing(watcher: Watcher) -> None:
    found = watcher.look({"use1": Site()}, *names(300))
    assert found.lost == {}
    assert set(found.suspects) == {"use1"}


def test_but_it_is_not_doubted_for_ever(watcher: Watcher) -> None:
    all_ = names(40)
    watcher.alive |= set(all_[:3])
    assert watcher.look({"use1": Site()}, *all_).lost == {}
    watcher.now += PATIENCE_S - 1
    assert watcher.look({"use1": Site()}, *all_).lost == {}
    watcher.now += 1
    found = watcher.look({"use1": Site()}, *all_)
    assert set(found.lost) == set(all_[3:])
    assert found.suspects == {}


def test_doubt_begins_anew_when_the_list_was_right_in_between(watcher: Watcher) -> None:
    all_ = names(40)
    watcher.look({"use1": Site()}, *all_)
    watcher.now += PATIENCE_S - 1
    watcher.look({"use1": Site(dict.fromkeys(all_, Presence.THERE))}, *all_)
    watcher.now += 2
    assert watcher.look({"use1": Site()}, *all_).lost == {}


def test_one_site_s_list_says_nothing_of_another_s(watcher: Watcher) -> None:
    nodes = [NodeSeen(name=name, site="use1") for name in names(20)]
    nodes += [NodeSeen(name=name, site="weu") for name in names(20, "w")]
    lists = {"use1": Site(), "weu": Site(dict.fromkeys(names(20, "w")[1:], Presence.THERE))}
    found = watcher.lifecycle.look(nodes, lists, fresh=lambda _: False)
    assert set(found.lost) == {"w-0000"}
    assert set(found.suspects) == {"use1"}


def test_a_node_of_nobody_s_is_left_alone(watcher: Watcher) -> None:
    assert watcher.look({"use1": Site()}, "somebody", site="") == LostNodes(lost={}, suspects={})


def test_the_nodes_of_a_site_that_is_no_more_go_by_the_same_rules(watcher: Watcher) -> None:
    watcher.alive.add("i-1")
    assert set(watcher.look({}, "i-0").lost) == {"i-0"}
    assert watcher.look({}, "i-1").lost == {}
    assert set(watcher.look({}, *names(40)).suspects) == {"use1"}


class Nodes(Watch):
    """Nodes as they say where they are."""

    def __init__(self, **labels: Mapping[str, str]) -> None:
        self._nodes = {name: {"metadata": {"name": name, "labels": dict(own)}} for name, own in labels.items()}

    def by_name(self) -> dict[str, object]:
        return dict(self._nodes)


def test_where_a_new_node_is_says_a_list_and_not_the_node() -> None:
    """One that claims another site would be in none of its lists, and lose its pods for it."""
    new = {UNCHECKED: "true", SITE_LABEL: "weu"}
    nodes = Nodes(forged=new, known={SITE_LABEL: "weu"}, unlisted=new, other={})
    listed = {"forged": "use1", "known": "use1"}
    sites = {node.name: node.site for node in registered_nodes(nodes, listed=lambda name: listed.get(name, ""))}
    assert sites == {"forged": "use1", "known": "weu", "unlisted": "weu", "other": ""}
