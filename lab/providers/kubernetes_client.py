"""What Pulumi's plugin asks of an API server beyond what the command does: where a kind is kept, and one object until
it is as it should be."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

from lab.providers.kubernetes_config import Access
from longhaul.kubernetes import connection
from longhaul.kubernetes.connection import ApiError, Object

APPLY = "application/apply-patch+yaml"
WATCH_S = 240
"""Seconds after which a watch is opened anew; proxies and balancers cut older ones."""
SILENCE_S = 60.0
"""How long a watch may outlive its time."""
RECONNECT_S = 1.0
TRIES = 10
"""Of a request that the server asks to repeat later, as client-go does."""


class NoMatchError(ApiError):
    """The API server has no such kind."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Where the API server keeps a kind."""

    base: str
    """``/api/v1`` or ``/apis/<group>/<version>``."""
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """The address of the collection, or of one object in it."""
        inside = f"/namespaces/{quote(namespace)}" if self.namespaced and namespace else ""
        return f"{self.base}{inside}/{self.plural}" + (f"/{quote(name)}" if name else "")


class Client(connection.Client):
    """One identity at one API server, by kinds."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, tries=TRIES)
        self.namespace = access.namespace
        self._known: dict[str, dict[str, Resource]] = {}

    def resource(self, api_version: str, kind: str) -> Resource:
        """Where ``kind`` is kept, from discovery; :class:`NoMatchError` when there is no such kind."""
        with self._lock:
            known = self._known.get(api_version, {})
        if kind not in known:
            # Asked again for what was not there: a definition may have been made since.
            known = self._discover(api_version)
            with self._lock:
                self._known[api_version] = known
        if kind not in known:
            raise NoMatchError(f'no matches for kind "{kind}" in version "{api_version}"', status=404, reason="NoMatch")
        return known[kind]

    def _discover(self, api_version: str) -> dict[str, Resource]:
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            listed = self.send("GET", base)["resources"]
        except ApiError as problem:
            if problem.status == 404:
                return {}
            raise
        return {
            one["kind"]: Resource(base=base, plural=one["name"], namespaced=one["namespaced"])
            for one in listed
            if "/" not in one["name"]
        }

    def get(self, api_version: str, kind: str, *, namespace: str | None, name: str) -> Object | None:
        """One object, or ``None``."""
        try:
            return self.send("GET", self.resource(api_version, kind).path(namespace, name))
        except ApiError as problem:
            if problem.status == 404 and not isinstance(problem, NoMatchError):
                return None
            raise

    def items(self, api_version: str, kind: str, *, namespace: str | None, selector: str = "") -> list[Object]:
        """Every object of a kind in a namespace, with what a list leaves out of its items."""
        query = {"labelSelector": selector} if selector else {}
        answer = self.send("GET", self.resource(api_version, kind).path(namespace), query=query)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer.get("items") or []]

    def follow(
        self, resource: Resource, *, namespace: str | None, name: str, timeout_s: float
    ) -> Iterator[Object | None]:
        """One object now and at each change, ``None`` when it is not there; ends after ``timeout_s``.

        Raises ApiError, CancelledError.
        """
        deadline = time.monotonic() + timeout_s
        only = {"fieldSelector": f"metadata.name={name}"}
        while True:
            try:
                listed = self.send("GET", resource.path(namespace), query=only)
            except ApiError as problem:
                # A server that is replaced is away for a moment; its successor knows as much.
                if 0 < problem.status < 500 or time.monotonic() >= deadline:
                    raise
                self.wait(RECONNECT_S)
                continue
            yield next(iter(listed.get("items") or []), None)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            query = {**only, "watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"]}
            yield from self._watch(resource.path(namespace), query, seconds=min(left, WATCH_S))
            self.wait(0)

    def _watch(self, path: str, query: dict[str, str], *, seconds: float) -> Iterator[Object | None]:
        """The changes of one watch; ends when it is over or broken off, and the caller looks anew."""
        query["timeoutSeconds"] = str(max(1, int(seconds)))
        try:
            with closing(self.lines(path, query, silence_s=seconds + SILENCE_S)) as lines:
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    yield None if event["type"] == "DELETED" else event["object"]
        except (OSError, http.client.HTTPException, ValueError):
            return
