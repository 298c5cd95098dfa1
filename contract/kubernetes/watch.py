"""Copy of a collection of the API, kept up to date by one listing, then one watch. The copy contains only the parts of
objects that :data:`Keep` returns, to save memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from contract.kubernetes.api import METADATA, METADATA_LIST, Api
from contract.kubernetes.connection import ApiError, Object

RETRY_S = 1.0
"""Time between a failure and the next attempt, seconds."""
ABSENT_S = 30.0
"""Time between two listings of a kind that the cluster does not know, seconds."""

Keep = Callable[[Object], Object | None]
"""Returns the parts of an object that are stored, or None to skip the object."""
Changed = Callable[[Object | None, Object | None], None]
"""Takes the stored parts of an object before and after a change. None stands for an object that did not exist before,
or does not exist any more."""


class Watch:
    """Objects of one collection, by namespace and name. :meth:`run` keeps them up to date until it is stopped."""

    def __init__(
        self,
        api: Api,
        path: str,
        *,
        fields: str = "",
        labels: str = "",
        metadata_only: bool = False,
        keep: Keep = lambda item: item,
        changed: Changed = lambda _before, _after: None,
        known: bool = True,
        tell: Callable[[str], None] = lambda _trouble: None,
    ) -> None:
        """``fields`` and ``labels`` are selectors. ``known`` is false for a kind that the cluster may not know: without
        the kind the collection is empty. ``tell`` is called with each new :attr:`trouble`."""
        self._api, self.path, self._keep, self._changed, self._known = api, path, keep, changed, known
        self._tell = tell
        selectors = {"fieldSelector": fields, "labelSelector": labels}
        query = {name: value for name, value in selectors.items() if value}
        self._list_query = query | ({"accept": METADATA_LIST} if metadata_only else {})
        self._watch_query = query | ({"accept": METADATA} if metadata_only else {})
        self._lock = threading.Lock()
        self._objects: dict[tuple[str, str], Object] = {}
        self._version = ""
        self.synced = threading.Event()
        """Set once the first listing is complete."""
        self.trouble = ""
        """Reason why the stored objects may be outdated; empty while the collection is followed."""

    def objects(self) -> list[Object]:
        """Return every object, as last received."""
        with self._lock:
            return list(self._objects.values())

    def by_name(self) -> dict[str, Object]:
        """Return every object, as last received, by name. The collection must be without namespaces."""
        with self._lock:
            return {name: item for (_, name), item in self._objects.items()}

    def find(self, name: str, *, namespace: str = "") -> Object | None:
        """Return one object, as last received; None if it does not exist."""
        with self._lock:
            return self._objects.get((namespace, name))

    def run(self, stop: threading.Event) -> None:
        """List and watch until stopped, and continue after every interruption."""
        while not stop.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow(stop)
            except ApiError as error:
                pause_s = self._failed(error)
                stop.wait(pause_s)

    def _failed(self, error: ApiError) -> float:
        """Record why a listing or a watch ended, and return the time to wait, seconds."""
        if error.status in (400, 404, 410):
            self._version = ""
        if error.status == 410:
            # A version that is too old is the normal end of a watch that slept.
            return 0.0
        if error.status == 404 and not self._known:
            with self._lock:
                self._objects = {}
            self.trouble = ""
            self.synced.set()
            return ABSENT_S
        if self.trouble != str(error):
            self.trouble = str(error)
            self._tell(self.trouble)
        return RETRY_S

    def _list(self) -> None:
        objects: dict[tuple[str, str], Object] = {}
        version = ""
        for page in self._api.pages(self.path, **self._list_query):
            for item in page.get("items") or []:
                kept = self._keep(item)
                if kept is not None:
                    objects[_key(item)] = kept
            version = page["metadata"]["resourceVersion"]
        with self._lock:
            before, self._objects, self._version = self._objects, objects, version
        self.trouble = ""
        self.synced.set()
        for key in before.keys() | objects.keys():
            if before.get(key) != objects.get(key):
                self._changed(before.get(key), objects.get(key))

    def _follow(self, stop: threading.Event) -> None:
        for event in self._api.events(self.path, version=self._version, **self._watch_query):
            self.trouble = ""
            item = event["object"]
            self._version = item["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                kept = None if event["type"] == "DELETED" else self._keep(item)
                with self._lock:
                    before = self._objects.pop(_key(item), None)
                    if kept is not None:
                        self._objects[_key(item)] = kept
                self._changed(before, kept)
            if stop.is_set():
                return
        self.trouble = ""


@contextmanager
def following(api: Api, runs: Iterable[Callable[[threading.Event], None]]) -> Iterator[None]:
    """Run the watches of ``api`` (:meth:`Watch.run`) during the block, each in its own thread."""
    stop = threading.Event()
    threads = [threading.Thread(target=run, args=(stop,), daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        # Hanging up misses a watch that has just begun, so repeat until all watches have ended.
        while any(thread.is_alive() for thread in threads):
            api.hang_up()
            threads[0].join(0.1)
            threads = [thread for thread in threads if thread.is_alive()]


def _key(item: Object) -> tuple[str, str]:
    metadata = item["metadata"]
    return str(metadata.get("namespace") or ""), str(metadata["name"])
