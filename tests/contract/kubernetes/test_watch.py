"""A watched collection: what it holds after changes, interruptions and versions that are too old."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.watch import Watch

Object = dict[str, Any]
Change = tuple[Object | None, Object | None]


def item(name: str, version: str, **more: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "team", "resourceVersion": version}, **more}


class Told(Api):
    """An API that gives listings and watches in their order, and stops the reader after the last."""

    def __init__(self, listings: list[list[Object] | ApiError], watches: list[list[Object | ApiError]]) -> None:
        self.listings, self.watches = listings, watches
        self.since: list[str] = []
        self.stop = threading.Event()

    def pages(self, path: str, **query: str) -> Iterator[Object]:
        found = self.listings.pop(0)
        if isinstance(found, ApiError):
            raise found
        yield {"items": found, "metadata": {"resourceVersion": f"list-{len(self.listings)}"}}

    def events(self, path: str, *, version: str, **query: str) -> Iterator[Object]:
        self.since.append(version)
        if not self.watches:
            self.stop.set()
            return
        for event in self.watches.pop(0):
            if isinstance(event, ApiError):
                raise event
            yield event


def followed(api: Told, **more: Any) -> tuple[Watch, list[Change]]:
    changes: list[Change] = []
    watch = Watch(api, "/pods", changed=lambda before, after: changes.append((before, after)), **more)
    watch.run(api.stop)
    return watch, changes


def event(type_: str, what: Object) -> Object:
    return {"type": type_, "object": what}


def test_changes_are_held_and_told() -> None:
    first, changed, second = item("a", "1"), item("a", "2"), item("b", "3")
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    events = [event("MODIFIED", changed), event("ADDED", second), event("DELETED", changed), bookmark]
    api = Told([[first]], [events])
    watch, changes = followed(api)
    assert watch.objects() == [second]
    assert changes == [(None, first), (first, changed), (None, second), (changed, None)]
    assert api.since == ["list-0", "9"], "the next watch begins where the last one ended"


def test_a_version_that_is_too_old_is_listed_anew_and_what_went_meanwhile_is_told() -> None:
    gone, stays = item("gone", "1"), item("stays", "2")
    api = Told([[gone, stays], [stays]], [[ApiError("too old", status=410)]])
    watch, changes = followed(api)
    assert watch.objects() == [stays]
    assert changes[-1] == (gone, None)
    assert watch.trouble == ""


def test_what_is_not_needed_is_not_held() -> None:
    api = Told(
        [[item("a", "1", over=True), item("b", "2", over=False)]], [[event("MODIFIED", item("b", "3", over=True))]]
    )
    watch, _ = followed(api, keep=lambda one: None if one["over"] else {"name": one["metadata"]["name"]})
    assert watch.objects() == []


def test_a_kind_that_the_cluster_does_not_know_is_empty() -> None:
    class Unknown(Told):
        def pages(self, path: str, **query: str) -> Iterator[Object]:
            self.stop.set()
            raise ApiError("no such kind", status=404)
            yield

    watch, _ = followed(Unknown([], []), known=False)
    assert (watch.objects(), watch.synced.is_set(), watch.trouble) == ([], True, "")
    watch, _ = followed(Unknown([], []))
    assert (watch.synced.is_set(), watch.trouble) == (False, "no such kind")


def test_what_may_be_old_is_said() -> None:
    class Breaking(Told):
        def events(self, path: str, *, version: str, **query: str) -> Iterator[Object]:
            self.stop.set()
            raise ApiError("no answer")
            yield

    watch, _ = followed(Breaking([[item("a", "1")]], []))
    assert watch.trouble == "no answer"
    assert [one["metadata"]["name"] for one in watch.objects()] == ["a"]


def test_a_collection_is_chosen_by_labels_and_without_its_objects_contents() -> None:
    class Chosen(Told):
        def pages(self, path: str, **query: str) -> Iterator[Object]:
            self.queries = [query]
            yield from super().pages(path)

        def events(self, path: str, **query: str) -> Iterator[Object]:
            self.queries.append(query)
            self.stop.set()
            yield from ()

    api = Chosen([[{"metadata": {"name": "a", "resourceVersion": "1"}}]], [])
    watch, _ = followed(api, labels="a=b", metadata_only=True)
    assert [query["labelSelector"] for query in api.queries] == ["a=b", "a=b"]
    assert ["Metadata" in query["accept"] for query in api.queries] == [True, True]
    assert set(watch.by_name()) == {"a"}
    assert (watch.find("a") is None, watch.find("b") is None) == (False, True)


def test_trouble_is_told_once() -> None:
    told: list[str] = []
    api = Told([ApiError("no answer"), ApiError("no answer"), [item("a", "1")]], [])
    watch = Watch(api, "/pods", tell=told.append)
    for _ in range(2):
        with pytest.raises(ApiError):
            watch._list()
        watch._failed(ApiError("no answer"))
    watch.run(api.stop)
    assert (told, watch.trouble) == (["no answer"], "")
