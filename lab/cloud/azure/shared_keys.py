"""Shared key of a connection, ``…/connections/<name>/sharedkey``; the connection's document never shows the key.

REST API "Virtual Network Gateway Connections - Get/Set Shared Key". Reading the key needs a separate action, which
read-only roles do not have (learn.microsoft.com/azure/role-based-access-control/permissions/networking).
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from lab.cloud.azure import access
from lab.cloud.azure.errors import ArmError, invalid, not_found, unsupported
from lab.cloud.azure.locks import free
from lab.cloud.azure.schema import gateway_connection
from lab.cloud.azure.schema.base import BodyPart
from lab.cloud.store import DocumentStore, ResourceDocument

PATH = re.compile(r"(?i)^(/.+/providers/Microsoft\.Network/connections/[^/]+)/sharedkey(/reset)?$")


class SharedKey(BodyPart):
    """Body of a request that sets the key."""

    value: str
    id: str | None = None


def connection(
    store: DocumentStore, principal: access.Principal, match: re.Match[str], *, method: str
) -> ResourceDocument:
    """Return the connection whose key is read or set.

    Raises:
        ArmError: 403 without permission, 404 without a connection, 400 when the lab does not support the request.
    """
    if match.group(2) or method not in ("GET", "PUT"):
        raise unsupported("The lab shows and sets shared keys; it does not make new ones up.")
    action = "sharedkey/action" if method == "GET" else "sharedKey/write"
    access.require(store, principal, action=f"{gateway_connection.TYPE}/{action}", scope=match.group(1))
    document = store.get(match.group(1))
    if document is None:
        raise not_found(match.group(1))
    return document


def shown(document: ResourceDocument) -> dict[str, Any]:
    """Return the answer, with the key.

    Raises:
        ArmError: 404 while the connection has no key.
    """
    if "sharedKey" not in document.hidden:
        raise ArmError(404, "SharedKeyNotFound", f"The connection {document.id} has no shared key yet.")
    return {"id": f"{document.id}/sharedkey", "value": document.hidden["sharedKey"]}


def changed(store: DocumentStore, document: ResourceDocument, body: Any) -> ResourceDocument:
    """Give the connection another key, and return the new document."""
    try:
        given = SharedKey.model_validate(body)
    except ValidationError as problem:
        raise invalid(f"sharedkey: {problem.errors(include_url=False, include_input=False)}") from problem
    free(store, document.id, document.type, document.body)
    hidden = {**document.hidden, "sharedKey": gateway_connection.checked_key(given.value, of=document.name)}
    return store.put(document.id, type=document.type, body=document.body, hidden=hidden)
