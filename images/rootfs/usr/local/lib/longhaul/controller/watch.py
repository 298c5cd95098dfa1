"""A collection of the API, held up to date: one listing, then one watch."""

from __future__ import annotations

import logging
import threading
import urllib.parse
from collections.abc import Callable

from controller.api import METADATA, METADATA_LIST, Api, ApiError, Object

log = logging.getLogger(__name__)

RETRY_S = 1.0
"""After a failure, before the next attempt."""


class Watch:
    """Objects of one collection by name. :meth:`run` goes on until stopped; :meth:`held` is a copy."""

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
        """``selector`` is of fields, ``labels`` of labels; ``keep`` makes of an object what is held of it, with its
        name."""
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
        """Every object by name, as last heard."""
        with self._lock:
            return dict(self._held)

    def one(self, name: str) -> Object | None:
        """One object, as last heard."""
        with self._lock:
            return self._held.get(name)

    def run(self, stop: threading.Event) -> None:
        """List, watch, and take up again whatever ends."""
        said = ""
        while not stop.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow(stop)
                said = ""
            except ApiError as error:
                if error.status in (400, 404, 410):
                    self._version = ""
                if str(error) != said:
                    said = str(error)
                    log.warning("%s; trying again", said)
                # A version too old is the ordinary end of a watch that slept; anything else needs a moment.
                stop.wait(0 if error.status == 410 else RETRY_S)

    def _list(self) -> None:
        found: dict[str, Object] = {}
        version = ""
        for page in self._api.pages(self._path, accept=self._accepts[0], **self._query):
            found |= {item["metadata"]["name"]: self._keep(item) for item in page.get("items") or []}
            version = page["metadata"]["resourceVersion"]
        with self._lock:
            self._held, self._version = found, version
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
    """A name as part of a path."""
    return urllib.parse.quote(name, safe="")
