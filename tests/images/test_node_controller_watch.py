"""Watches that are cut or that slept too long, and the election of a leader."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from controller.api import ApiError
from controller.election import LEASE_S, Election
from controller.watch import Watch

from tests.images.fake_api import FakeApi


class Script(FakeApi):
    """Prepared listings and watches."""

    def __init__(self, *watches: list[dict[str, Any] | ApiError]) -> None:
        super().__init__()
        self.watches, self.since, self.listings = list(watches), list[str](), 0

    def pages(self, path: str, *, accept: str = "", **query: str) -> Iterator[dict[str, Any]]:
        self.listings += 1
        yield {"metadata": {"resourceVersion": f"{self.listings}00"}, "items": [item("a")]}

    def watch(self, path: str, *, since: str, accept: str = "", **query: str) -> Iterator[dict[str, Any]]:
        self.since.append(since)
        for each in self.watches.pop(0):
            if isinstance(each, ApiError):
                raise each
            yield each


def item(name: str, version: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def event(kind: str, name: str, version: str) -> dict[str, Any]:
    return {"type": kind, "object": item(name, version)}


def follow(api: Script, *, until: Callable[[Watch], bool]) -> Watch:
    stop = threading.Event()
    watch = Watch(api, "/x", changed=lambda: stop.set() if until(watch) else None)
    watch.run(stop)
    return watch


def test_a_watch_goes_on_where_it_ended() -> None:
    api = Script(
        [event("ADDED", "b", "101"), {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "150"}}}],
        [event("DELETED", "a", "151"), event("MODIFIED", "b", "152")],
    )
    watch = follow(api, until=lambda w: "a" not in w.held() and w.held().get("b") == item("b", "152"))
    assert api.since == ["100", "150"]
    assert api.listings == 1
    assert watch.synced.is_set()


def test_a_version_that_is_too_old_is_listed_anew() -> None:
    api = Script([event("ADDED", "b", "101"), ApiError(410, "too old")], [event("ADDED", "c", "201")])
    watch = follow(api, until=lambda w: "c" in w.held())
    assert api.since == ["100", "200"]
    # An object that was deleted meanwhile is gone.
    assert set(watch.held()) == {"a", "c"}


# The election of a leader.


class Leases(FakeApi):
    """One Lease, as the API server stores it."""

    def __init__(self) -> None:
        super().__init__()
        self.lease: dict[str, Any] | None = None
        self.version = 0

    def _json(self, method: str, path: str, *, body: Any = None, **more: Any) -> dict[str, Any]:
        if method == "GET":
            if self.lease is None:
                raise ApiError(404, "not found")
            return {**self.lease, "spec": dict(self.lease["spec"]), "metadata": dict(self.lease["metadata"])}
        if method == "PUT" and body["metadata"]["resourceVersion"] != str(self.version):
            raise ApiError(409, "conflict")
        self.version += 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return self.lease


def test_a_silent_leader_is_succeeded_and_a_talking_one_is_not() -> None:
    now, api = [0.0], Leases()
    first, second = (Election(api, identity=name, clock=lambda: now[0]) for name in ("one", "two"))
    assert first.attempt()
    for _ in range(10):
        now[0] += LEASE_S - 1
        assert not second.attempt()
        assert first.attempt()
    assert not second.attempt()
    now[0] += LEASE_S - 1
    assert not second.attempt()
    now[0] += 1
    assert second.attempt()
    assert api.lease is not None
    assert api.lease["spec"]["leaseTransitions"] == 1
    assert not first.attempt()


def test_of_two_at_once_one_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Leases()
    first, second = Election(api, identity="one"), Election(api, identity="two")
    first.attempt()
    first.release()
    find = api.find

    def overtaken(path: str, *, accept: str = "application/json") -> Any:
        found = find(path)
        monkeypatch.setattr(api, "find", find)
        assert second.attempt()
        return found

    monkeypatch.setattr(api, "find", overtaken)
    assert not first.attempt()
