"""Client for requests of Pulumi's plugin that ``longhaul`` does not make: finding the resource of a kind, and following
one object."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import quote

from contract.kubernetes import connection
from contract.kubernetes.connection import ApiError, Object
from lab.providers.kubernetes_config import NamespacedAccess

APPLY = "application/apply-patch+yaml"
WATCH_S = 240
"""Seconds after which a watch is opened again; proxies and load balancers cut older watches."""
SILENCE_S = 60.0
"""Seconds by which a watch may exceed :data:`WATCH_S`."""
RECONNECT_S = 1.0
TRIES = 10
"""Number of attempts of a request that the server asks to repeat later, as in client-go."""


class NoMatchError(ApiError):
    """Raised when the API server has no such kind."""


@dataclass(frozen=True, kw_only=True)
class ApiResource:
    """Place of a kind on the API server."""

    base: str
    """Path of the group and version: ``/api/v1`` or ``/apis/<group>/<version>``."""
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Return the path of the collection, or of one object in it."""
        inside = f"/namespaces/{quote(namespace)}" if self.namespaced and namespace else ""
        return f"{self.base}{inside}/{self.plural}" + (f"/{quote(name)}" if name else "")


class ObjectClient(connection.ApiClient):
    """One identity at one API server; requests name kinds."""

    def __init__(self, access: NamespacedAccess) -> None:
        super().__init__(access, tries=TRIES)
        self.namespace = access.namespace
        self._known: dict[str, dict[str, ApiResource]] = {}

    def resource(self, api_version: str, kind: str) -> ApiResource:
        """Return the place of ``kind``, from discovery; raises :class:`NoMatchError` when there is no such kind."""
        with self._lock:
            known = self._known.get(api_version, {})
        if kind not in known:
            # An unknown kind is looked up again: its definition may have been made since.
            known = self._discover(api_version)
            with self._lock:
                self._known[api_version] = known
        if kind not in known:
            raise NoMatchError(f'no matches for kind "{kind}" in version "{api_version}"', status=404, reason="NoMatch")
        return known[kind]

    def _discover(self, api_version: str) -> dict[str, ApiResource]:
        base = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            tag_list = self.send("GET", base)["resources"]
        except ApiError as problem:
            if problem.status == 404:
                return {}
            raise
        return {
            entry["kind"]: ApiResource(base=base, plural=entry["name"], namespaced=entry["namespaced"])
            for entry in tag_list
            if "/" not in entry["name"]
        }

    def get(self, api_version: str, kind: str, *, namespace: str | None, name: str) -> Object | None:
        """Return one object, or ``None``."""
        try:
            return self.send("GET", self.resource(api_version, kind).path(namespace, name))
        except ApiError as problem:
            if problem.status == 404 and not isinstance(problem, NoMatchError):
                return None
            raise

    def items(self, api_version: str, kind: str, *, namespace: str | None, selector: str = "") -> list[Object]:
        """Return every object of a kind in a namespace, with the fields that a list leaves out of its items."""
        query = {"labelSelector": selector} if selector else {}
        answer = self.send("GET", self.resource(api_version, kind).path(namespace), query=query)
        return [{"apiVersion": api_version, "kind": kind, **item} for item in answer.get("items") or []]

    def follow(
        self, resource: ApiResource, *, namespace: str | None, name: str, timeout_s: float
    ) -> Iterator[Object | None]:
        """Yield an object now and at each change, or ``None`` while the object does not exist; end after ``timeout_s``.

        Raises ApiError, CancelledError.
        """
        deadline = time.monotonic() + timeout_s
        only = {"fieldSelector": f"metadata.name={name}"}
        while True:
            try:
                tag_list = self.send("GET", resource.path(namespace), query=only)
            except ApiError as problem:
                # A server that is being replaced is away for a moment; its successor has the same objects.
                if 0 < problem.status < 500 or time.monotonic() >= deadline:
                    raise
                self.wait(RECONNECT_S)
                continue
            yield next(iter(tag_list.get("items") or []), None)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            query = {**only, "watch": "true", "resourceVersion": tag_list["metadata"]["resourceVersion"]}
            yield from self._watch(resource.path(namespace), query, seconds=min(left, WATCH_S))
            self.wait(0)

    def _watch(self, path: str, query: dict[str, str], *, seconds: float) -> Iterator[Object | None]:
        """Yield the changes of one watch; end when the watch is over or broken off, so that the caller looks again."""
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
