"""A collection of the API, kept up to date: one listing, then one watch."""

from __future__ import annotations

import logging
import threading
import urllib.parse
from collections.abc import Callable

from controller.api import METADATA, METADATA_LIST, Api, ApiError, Object

log = logging.getLogger(__name__)

RETRY_S = 1.0
"""Seconds between a failure and the next attempt."""


class Watch:
    """Objects of one collection by name. :meth:`run` goes on until stopped; :meth:`held` returns a copy."""

    def __init__(
        self,
        api: Api,
        path: str,
        *,
        selector: str = "",
        labels: str = "",
        metadata: bool = False,
        keep: Callable[[Object], Object] = lambda item: item,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """``selector`` selects by fields, ``labels`` by labels; ``keep`` returns the parts of an object that are kept,
        including its name."""
        self._api, self._path, self._keep, self._changed = api, path, keep, changed
        chosen = {"fieldSelector": selector, "labelSelector": labels}
        self._query = {name: value for name, value in chosen.items() if value}
        self._accepts = (METADATA_LIST, METADATA) if metadata else ("application/json", "application/json")
        self._lock = threading.Lock()
        self._held: dict[str, Object] = {}
        self._version = ""
        self.synced = threading.Event()
        """Set once the first listing is complete."""

    def held(self) -> dict[str, Object]:
        """Return every object by name, as last received."""
        with self._lock:
            return dict(self._held)

    def one(self, name: str) -> Object | None:
        """Return one object, as last received."""
        with self._lock:
            return self._held.get(name)

    def run(self, stop: threading.Event) -> None:
        """List and watch until stopped, and continue after every interruption."""
        reported = ""
        while not stop.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow(stop)
                reported = ""
            except ApiError as error:
                if error.status in (400, 404, 410):
                    self._version = ""
                if str(error) != reported:
                    reported = str(error)
                    log.warning("%s; trying again", reported)
                # A version that is too old is the normal end of a watch that slept; any other error needs a pause.
                stop.wait(0 if error.status == 410 else RETRY_S)

    def _list(self) -> None:
        objects: dict[str, Object] = {}
        version = ""
        for page in self._api.pages(self._path, accept=self._accepts[0], **self._query):
            objects |= {item["metadata"]["name"]: self._keep(item) for item in page.get("items") or []}
            version = page["metadata"]["resourceVersion"]
        with self._lock:
            self._held, self._version = objects, version
        self.synced.set()
        self._changed()

    def _follow(self, stop: threading.Event) -> None:
        for event in self._api.watch(self._path, since=self._version, accept=self._accepts[1], **self._query):
            item = event["object"]
            with self._lock:
                self._version = item["metadata"]["resourceVersion"]
                if event["type"] in ("ADDED", "MODIFIED"):
                    self._held[item["metadata"]["name"]] = self._keep(item)
                elif event["type"] == "DELETED":
                    self._held.pop(item["metadata"]["name"], None)
            if event["type"] != "BOOKMARK":
                self._changed()
            if stop.is_set():
                return


def quoted(name: str) -> str:
    """Quote a name for use in a path."""
    return urllib.parse.quote(name, safe="")
