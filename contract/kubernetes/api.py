"""Client of a cluster's API with a client certificate: objects, lists, patches, watches."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from contract.kubernetes.connection import JSON, TIMEOUT_S, ApiClient, ApiError, ClusterAccess, Object, load_chain

PAGE = 500
"""Largest number of objects in one page of a list."""
WATCH_S = 240
"""Longest duration of one watch, seconds."""
SILENCE_S = WATCH_S + TIMEOUT_S
"""Time without data after which a watch counts as dead, seconds. The server sends a bookmark about once a minute
(k8s.io/apiserver, ``defaultBookmarkFrequency``), but a busy server sends it late. With a limit of 90 s, a lab under
load lost its watches of rarely changing kinds, and the autoscaler made no pass."""
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""Media types for an object and for a list with only the objects' metadata (kubernetes.io, "API Concepts")."""

Renew = Callable[[Mapping[str, str]], Mapping[str, str] | None]
"""Returns the identity that replaces the given identity; None while the given identity remains valid."""


def identity_of(kubeconfig: Mapping[str, Any]) -> dict[str, str]:
    """Return the identity in a kubeconfig with one cluster and embedded certificates, such as
    :func:`longhaul.cluster.api_access.kubeconfig` returns. Raise ``LookupError``, ``TypeError`` or ``ValueError`` for
    any other kubeconfig."""
    cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
    parts = {
        "issuer": cluster["certificate-authority-data"],
        "certificate": user["client-certificate-data"],
        "key": user["client-key-data"],
    }
    return {name: base64.b64decode(text).decode() for name, text in parts.items()}


class ApiReader(ApiClient):
    """Read-only client of a cluster's API."""

    def get(self, path: str, *, accept: str = JSON, **query: str) -> Object:
        """Read one object."""
        return self._request("GET", path, query=query, accept=accept)

    def find(self, path: str) -> Object | None:
        """Read one object; None if the object does not exist."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, **query: str) -> Iterator[Object]:
        """Yield every object of a list, page by page."""
        for page in self.pages(path, **query):
            yield from page.get("items") or []

    def pages(self, path: str, **query: str) -> Iterator[Object]:
        """Yield the pages of a list. Each page contains the version of the whole list. ``query`` is passed to
        :meth:`get`."""
        follow: dict[str, str] = {}
        while True:
            answer = self.get(path, limit=str(PAGE), **query, **follow)
            yield answer
            token = answer.get("metadata", {}).get("continue")
            if not token:
                return
            follow = {"continue": token}

    def _request(self, method: str, path: str, **more: Any) -> Object:
        """Send a request and return the answer. Raise an error that names the request if the API refuses."""
        try:
            return self.send(method, path, **more)
        except ApiError as error:
            if not error.status:
                raise
            raise ApiError(f"{method} {path}: {error}", status=error.status, reason=error.reason) from None


class Api(ApiReader):
    """Client of a cluster's API."""

    def __init__(
        self,
        url: str,
        identity: Mapping[str, str],
        *,
        acting_as: str = "",
        timeout_s: float = TIMEOUT_S,
        renew: Renew | None = None,
    ) -> None:
        """``identity`` has ``certificate`` and ``key``, and the ``issuer`` of the servers' certificates, PEM.
        ``acting_as`` is a user without groups whom every request impersonates (kubernetes.io, "User impersonation"), as
        only administrators may. ``renew`` is called before each request."""
        context = ssl.create_default_context(cadata=identity["issuer"])
        self._identity, self._renew = identity, renew
        self._renewing = threading.Lock()
        self._load(context)
        parts = urlsplit(url)
        access = ClusterAccess(
            host=parts.hostname or "",
            port=parts.port or 443,
            context=context,
            server_name=parts.hostname or "",
            headers={"Impersonate-User": acting_as} if acting_as else {},
            timeout_s=timeout_s,
        )
        super().__init__(access)

    def prepare(self) -> None:
        """Use a renewed certificate, if there is one. An open connection keeps its certificate."""
        if self._renew is None:
            return
        with self._renewing:
            identity = self._renew(self._identity)
            if identity is not None:
                self._identity = identity
                self._load(self.access.context)
                self.reconnect()

    def trust(self, authorities: str) -> None:
        """Trust further authorities (PEM) of API servers."""
        self.access.context.load_verify_locations(cadata=authorities)

    def _load(self, context: ssl.SSLContext) -> None:
        load_chain(context, self._identity["certificate"] + "\n" + self._identity["key"])

    @classmethod
    def of(
        cls,
        kubeconfig: Mapping[str, Any],
        *,
        timeout_s: float = TIMEOUT_S,
        renew: Renew | None = None,
    ) -> Api:
        """Return the API of a kubeconfig from :func:`longhaul.cluster.api_access.kubeconfig`."""
        server = str(kubeconfig["clusters"][0]["cluster"]["server"])
        return cls(server, identity_of(kubeconfig), timeout_s=timeout_s, renew=renew)

    def patch(self, path: str, body: Object, *, strategic: bool = False) -> Object:
        """Change parts of an object by a JSON merge patch (RFC 7386); null removes a field. With ``strategic``, lists
        with a merge key are merged entry by entry; a Node's conditions, for example, by type."""
        kind = "strategic-merge-patch" if strategic else "merge-patch"
        return self._request("PATCH", path, body=body, content_type=f"application/{kind}+json")

    def post(self, path: str, body: Object) -> Object:
        """Create an object."""
        return self._request("POST", path, body=body)

    def put(self, path: str, body: Object) -> Object:
        """Replace an object."""
        return self._request("PUT", path, body=body)

    def delete(self, path: str, *, uid: str = "", grace_s: int | None = None) -> bool:
        """Delete an object; with ``uid``, only if the object has this uid. Return False if the object no longer exists,
        or if another object has its name now. ``grace_s`` replaces a pod's own grace period, seconds; 0 removes the pod
        at once, without waiting for its node."""
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        body |= {"preconditions": {"uid": uid}} if uid else {}
        body |= {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        try:
            self._request("DELETE", path, body=body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            return False
        return True

    def events(self, path: str, *, version: str, accept: str = JSON, **query: str) -> Iterator[Object]:
        """Yield the events of a watch since a version, including bookmarks, until the server ends the watch. Raise
        ``ApiError`` if the server refuses or the connection breaks; status 410 means that the version is too old."""
        wanted = {**query, "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        wanted["timeoutSeconds"] = str(WATCH_S)
        try:
            for line in self.lines(path, wanted, silence_s=SILENCE_S, accept=accept):
                event = dict(json.loads(line))
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(str(status.get("message")), status=int(status.get("code") or 500))
                yield event
        except (OSError, http.client.HTTPException, ValueError) as problem:
            raise self.silent(problem) from None

    def await_change(self, path: str, *, version: str, limit_s: float, **query: str) -> None:
        """Wait until something in a list has changed since ``version``, at most ``limit_s`` seconds."""
        wanted = {**query, "watch": "1", "resourceVersion": version, "timeoutSeconds": str(max(1, round(limit_s)))}
        try:
            next(self.lines(path, wanted, silence_s=limit_s + TIMEOUT_S), None)
        except (OSError, http.client.HTTPException) as problem:
            raise self.silent(problem) from None


def path_of(*parts: str) -> str:
    """Return the path of the names, with special characters quoted."""
    return "/" + "/".join(quote(part, safe="") for part in parts)
