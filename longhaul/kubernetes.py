"""Asking the cluster's API and telling it, with the administrator's certificate: what commands need that go on for
hours, without a kubectl for each question."""

from __future__ import annotations

import base64
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode

TIMEOUT_S = 30.0
"""How long one answer may take, seconds."""
PAGE = 500
"""Objects in one answer."""
MERGE = "application/merge-patch+json"
BUSY = (410, 429, 500, 502, 503, 504)
"""Answers after which the same question may be answered (k8s.io/apimachinery, ``errors.SuggestsClientDelay`` and what
load balancers say); 410 is a list whose next page came too late, and has to begin anew."""

Object = dict[str, Any]


class ApiError(Exception):
    """The API refused, or did not answer; ``status`` is its HTTP status, 0 for no answer."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def passing(self) -> bool:
        """Whether it may be otherwise in a moment."""
        return self.status == 0 or self.status in BUSY


class Api:
    """One cluster's API. Every call raises :class:`ApiError` for what is not done."""

    def __init__(self, url: str, identity: Mapping[str, str], *, acting_as: str = "") -> None:
        """``identity``: ``certificate``, ``key`` and ``issuer``, PEM. ``acting_as`` is a user, in no group, that the
        API servers take every call for (kubernetes.io, "User impersonation"): the administrator may ask for that."""
        self._opener = opener(identity)
        if acting_as:
            self._opener.addheaders.append(("Impersonate-User", acting_as))
        self._url = url.rstrip("/")
        self._ahead = 0.0

    @classmethod
    def of(cls, kubeconfig: Mapping[str, Any]) -> Api:
        """The API of a kubeconfig as :func:`longhaul.cluster.kubeconfig` makes it: one cluster, all embedded."""
        cluster, user = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]
        parts = {
            "issuer": cluster["certificate-authority-data"],
            "certificate": user["client-certificate-data"],
            "key": user["client-key-data"],
        }
        return cls(cluster["server"], {name: base64.b64decode(text).decode() for name, text in parts.items()})

    def now(self) -> datetime:
        """The time on the API servers' clock, as their last answer told it: what is written into objects is compared
        with what other machines write, and this machine's clock may be anybody's."""
        return datetime.fromtimestamp(datetime.now(UTC).timestamp() + self._ahead, UTC)

    def get(self, path: str, **query: str) -> Object:
        """One object."""
        return self._object("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """One object, or None when there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, **query: str) -> Iterator[Object]:
        """Every object of a list, page by page."""
        follow: dict[str, str] = {}
        while True:
            answer = self.get(path, limit=str(PAGE), **query, **follow)
            yield from answer.get("items") or []
            token = answer.get("metadata", {}).get("continue")
            if not token:
                return
            follow = {"continue": token}

    def patch(self, path: str, body: Object) -> Object:
        """Change parts of an object: JSON merge patch (RFC 7386), in which null takes a field away."""
        return self._object("PATCH", path, body=body, content=MERGE)

    def post(self, path: str, body: Object) -> Object:
        """Make an object."""
        return self._object("POST", path, body=body)

    def put(self, path: str, body: Object) -> Object:
        """Replace an object."""
        return self._object("PUT", path, body=body)

    def delete(self, path: str, *, uid: str) -> None:
        """Delete the object of this uid; one that is gone, or another of its name, is left."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        try:
            self._object("DELETE", path, body=body)
        except ApiError as error:
            if error.status not in (404, 409):
                raise

    def await_change(self, path: str, *, version: str, limit_s: float, **query: str) -> None:
        """Return once something in a list has changed since ``version``, and after ``limit_s`` seconds in any case."""
        wanted = {**query, "watch": "1", "resourceVersion": version, "timeoutSeconds": str(max(1, round(limit_s)))}
        try:
            with self._open("GET", path, query=wanted, timeout_s=limit_s + TIMEOUT_S) as response:
                response.readline()
        except (OSError, HTTPException) as error:
            raise ApiError(f"{self._url}{path} does not answer: {type(error).__name__}") from error

    def _object(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content: str = "application/json",
    ) -> Object:
        try:
            with self._open(method, path, query=query or {}, body=body, content=content) as response:
                answer: Object = json.load(response)
                return answer
        except (OSError, HTTPException, ValueError) as error:
            raise ApiError(f"{self._url}{path} does not answer: {type(error).__name__}") from error

    def _open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        body: Object | None = None,
        content: str = "application/json",
        timeout_s: float = TIMEOUT_S,
    ) -> HTTPResponse:
        url = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 - the API's own address
        request.add_header("Accept", "application/json")
        if data is not None:
            request.add_header("Content-Type", content)
        try:
            response: HTTPResponse = self._opener.open(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            raise ApiError(f"{method} {path}: {_message(error)}", status=error.code) from None
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise ApiError(f"{self._url} does not answer: {reason}") from None
        self._ahead = _ahead(response.headers.get("Date"), self._ahead)
        return response


def opener(identity: Mapping[str, str]) -> urllib.request.OpenerDirector:
    """What opens the API's pages with that identity, past any proxy."""
    context = ssl.create_default_context(cadata=identity["issuer"])
    _load(context, identity["certificate"] + "\n" + identity["key"])
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))


def path_of(*parts: str) -> str:
    """A path of names that need not be plain."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _message(error: urllib.error.HTTPError) -> str:
    """What the API says of a refusal (its ``Status`` object)."""
    try:
        return str(json.load(error)["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"


def _ahead(date: str | None, before: float) -> float:
    """Seconds that another's clock, which tells whole ones, is ahead of this one; differences too small to matter are
    none."""
    try:
        found = parsedate_to_datetime(date or "").timestamp() - datetime.now(UTC).timestamp()
    except (TypeError, ValueError):
        return before
    return found if abs(found) > 2 else 0.0


def _load(context: ssl.SSLContext, pem: str) -> None:
    """Load a certificate and its key, for which OpenSSL wants a file: one that only this process has, in memory."""
    descriptor = os.memfd_create("administrator", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
