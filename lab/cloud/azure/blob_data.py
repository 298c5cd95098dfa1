"""Blob storage, ``*.blob.core.windows.net``: containers and block blobs.

Operations, headers and errors are from learn.microsoft.com/rest/api/storageservices (Put Blob, Put Block, Put Block
List, Get Blob, Delete Blob, Create Container, List Blobs). Tested with the calls of azure-storage-blob.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import time
import uuid
from email.utils import formatdate
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from aiohttp import web

from clouds.azure.names import STORAGE as STORAGE_ENDPOINT
from contract.azure import SIGN_IN_HOST, STORAGE
from lab.cloud.azure import firewall
from lab.cloud.azure.access import Principal, roles_at
from lab.cloud.azure.blobs import Blob, BlobStore, Key
from lab.cloud.azure.conditions import LIST, Operation
from lab.cloud.azure.identity import TokenEndpoints, TokenError
from lab.cloud.azure.schema import blob_container, storage_account
from lab.cloud.azure.schema.blob_container import TYPE
from lab.cloud.store import DocumentStore, ResourceDocument

log = logging.getLogger(__name__)

SUFFIX = storage_account.SUFFIX
CHUNK = 1 << 20
"""Number of bytes read at a time."""
RANGE = re.compile(r"bytes=(\d+)-(\d*)")
META = "x-ms-meta-"
"""Prefix of the names of headers with a blob's metadata."""
READ, WRITE, ADD, DELETE = ("blobs/read", "blobs/write", "blobs/add/action", "blobs/delete")


class BlobError(Exception):
    """A refusal, in the storage service's words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


class BlobData:
    """Answers requests to all storage accounts."""

    def __init__(self, *, store: DocumentStore, blobs: BlobStore, identity: TokenEndpoints) -> None:
        self._store, self._blobs, self._identity = store, blobs, identity

    async def handle(self, request: web.Request, account: str, peer: firewall.FirewallClient) -> web.StreamResponse:
        """Answer one request to the account from ``peer``."""
        try:
            response = await self._answer(request, account, peer)
        except TokenError:
            challenge = f"Bearer authorization_uri=https://{SIGN_IN_HOST}/{self._identity.tenant} resource_id={STORAGE}"
            response = _refusal(BlobError(401, "NoAuthenticationInformation", "The request has no valid token."))
            response.headers["WWW-Authenticate"] = challenge
        except BlobError as error:
            response = _refusal(error)
        response.headers["x-ms-request-id"] = str(uuid.uuid4())
        response.headers["x-ms-version"] = request.headers.get("x-ms-version", "")
        log.info("blobs %s: %s %s -> %s", account, request.method, request.path, response.status)
        return response

    async def _answer(self, request: web.Request, name: str, peer: firewall.FirewallClient) -> web.StreamResponse:
        principal = self._identity.verify(request.headers.get("Authorization"), audiences=(STORAGE,))
        account = storage_account.find(self._store, name)
        if account is None:
            raise BlobError(404, "ResourceNotFound", f"There is no storage account {name}.")
        if firewall.refusal(self._store, account, peer, service=STORAGE_ENDPOINT):
            raise BlobError(403, "AuthorizationFailure", "This request is not authorized to perform this operation.")
        container, _, blob = request.path.lstrip("/").partition("/")
        place = self._place(account, container)
        if not blob:
            return self._container(request, account, principal, container, place)
        if place is None:
            raise BlobError(404, "ContainerNotFound", "The specified container does not exist.")
        return await self._blob(request, account, principal, (place, container, blob))

    def _place(self, account: ResourceDocument, container: str) -> str | None:
        """Return the first part of the keys under which a container's blobs are stored; None when there is no such
        container."""
        made = blob_container.container_of(self._store, account, container)
        if made is not None:
            return blob_container.place_of(account, made)
        return account.key if self._blobs.has_container(account.key, container) else None

    def _container(
        self, request: web.Request, account: ResourceDocument, principal: Principal, container: str, place: str | None
    ) -> web.StreamResponse:
        call = (request.method, request.query.get("restype"), request.query.get("comp"))
        if call == ("PUT", "container", None):
            self._require(account, principal, container, "write")
            if place is not None or not self._blobs.add_container(account.key, container):
                raise BlobError(409, "ContainerAlreadyExists", "The specified container already exists.")
            return web.Response(status=201)
        if call == ("GET", "container", "list"):
            prefix, include = request.query.get("prefix", ""), request.query.get("include", "")
            self._require(account, principal, container, READ, suboperation=LIST, prefix=prefix)
            if place is None:
                raise BlobError(404, "ContainerNotFound", "The specified container does not exist.")
            if include not in ("", "metadata"):
                raise _unsupported(request)
            names = self._blobs.names(place, container, prefix=prefix)
            text = _listing(container, prefix, names, with_metadata=bool(include))
            return web.Response(text=text, content_type="application/xml")
        raise _unsupported(request)

    async def _blob(
        self, request: web.Request, account: ResourceDocument, principal: Principal, key: Key
    ) -> web.StreamResponse:
        call = (request.method, request.query.get("comp"))
        if call in (("PUT", None), ("PUT", "block"), ("PUT", "blocklist")):
            old = self._blobs.get(key)
            # Two actions allow making a new blob (learn.microsoft.com, "Example Azure role assignment conditions for
            # Blob Storage", "New blobs must include a blob index tag").
            actions = (WRITE, ADD) if old is None else (WRITE,)
            self._require(account, principal, key[1], *actions, path=key[2])
            if request.query.get("comp") != "block" and old is not None:
                self._changeable(account, old, key, kept_for_ever=True)
            return await self._write(request, key)
        if call in (("GET", None), ("HEAD", None)):
            self._require(account, principal, key[1], READ, path=key[2])
            return await self._read(request, self._existing(key))
        if call == ("DELETE", None):
            self._require(account, principal, key[1], DELETE, path=key[2])
            self._changeable(account, self._existing(key), key)
            self._blobs.delete(key)
            return web.Response(status=202)
        raise _unsupported(request)

    def _changeable(self, account: ResourceDocument, blob: Blob, key: Key, *, kept_for_ever: bool = False) -> None:
        """Refuse a change of a blob that the container's retention forbids. A blob that is old enough may be deleted,
        but never overwritten (learn.microsoft.com, "Store business-critical blob data with immutable storage")."""
        container = blob_container.container_of(self._store, account, key[1])
        kept_s = blob_container.retention_s(self._store, container) if container else 0.0
        if kept_s and (kept_for_ever or time.time() < blob.modified + kept_s):
            message = "This operation is not permitted as the blob is immutable due to a policy."
            raise BlobError(409, "BlobImmutableDueToPolicy", message)

    async def _write(self, request: web.Request, key: Key) -> web.StreamResponse:
        comp = request.query.get("comp")
        if comp != "block" and request.headers.get("If-None-Match") == "*" and self._blobs.get(key):
            raise BlobError(409, "BlobAlreadyExists", "The specified blob already exists.")
        metadata = {
            name[len(META) :].lower(): value for name, value in request.headers.items() if name.lower().startswith(META)
        }
        content_type = request.headers.get("x-ms-blob-content-type", "application/octet-stream")
        if comp == "block":
            path = await self._blobs.receive(request.content.iter_chunked(CHUNK))
            self._blobs.stage(key, request.query["blockid"], path)
            return web.Response(status=201)
        if comp == "blocklist":
            body = ElementTree.fromstring(await request.text())  # noqa: S314 - the operator's own library wrote it
            blob = self._blobs.commit(
                key, [block.text or "" for block in body], content_type=content_type, metadata=metadata
            )
            if blob is None:
                raise BlobError(400, "InvalidBlockList", "The specified block list is invalid.")
            return web.Response(status=201, headers=_headers(blob))
        if request.headers.get("x-ms-blob-type") != "BlockBlob":
            raise _unsupported(request)
        path = await self._blobs.receive(request.content.iter_chunked(CHUNK))
        wanted = request.headers.get("Content-MD5")
        if wanted is not None and wanted != _md5(path):
            path.unlink()
            raise BlobError(
                400, "Md5Mismatch", "The MD5 value specified in the request did not match what was received."
            )
        blob = self._blobs.put(key, path, content_type=content_type, metadata=metadata)
        return web.Response(status=201, headers=_headers(blob))

    async def _read(self, request: web.Request, blob: Blob) -> web.StreamResponse:
        headers = {
            **_headers(blob),
            **_metadata(blob),
            "Content-Type": blob.content_type,
            "x-ms-blob-type": "BlockBlob",
        }
        asked = RANGE.fullmatch(request.headers.get("x-ms-range") or request.headers.get("Range") or "")
        first, last = (int(asked[1]), int(asked[2] or blob.size)) if asked else (0, blob.size)
        last = min(last, blob.size - 1)
        if asked and first >= blob.size:
            raise BlobError(416, "InvalidRange", "The range specified is invalid for the current size of the resource.")
        if asked:
            headers["Content-Range"] = f"bytes {first}-{last}/{blob.size}"
        response = web.StreamResponse(status=206 if asked else 200, headers=headers)
        response.content_length = last - first + 1
        await response.prepare(request)
        if request.method == "GET":
            await _send(response, blob, first, last)
        await response.write_eof()
        return response

    def _existing(self, key: Key) -> Blob:
        blob = self._blobs.get(key)
        if blob is None:
            raise BlobError(404, "BlobNotFound", "The specified blob does not exist.")
        return blob

    def _require(
        self, account: ResourceDocument, principal: Principal, container: str, *actions: str, **attributes: str
    ) -> None:
        """Refuse unless a role allows one of the actions."""
        scope = f"{account.id}/blobServices/default/containers/{container}"
        roles = roles_at(self._store, principal_id=principal.object_id, scope=scope)
        wanted = [Operation(action=f"{TYPE}/{action}", **attributes) for action in actions]
        made = actions == ("write",)
        if not any(
            role.allows_data(operation) or (made and role.allows(operation.action))
            for role in roles
            for operation in wanted
        ):
            message = "This request is not authorized to perform this operation using this permission."
            raise BlobError(403, "AuthorizationPermissionMismatch", message)


async def _send(response: web.StreamResponse, blob: Blob, first: int, last: int) -> None:
    with blob.path.open("rb") as file:
        file.seek(first)
        left = last - first + 1
        while left and (chunk := file.read(min(CHUNK, left))):
            left -= len(chunk)
            await response.write(chunk)


def _headers(blob: Blob) -> dict[str, str]:
    return {"ETag": blob.etag, "Last-Modified": formatdate(blob.modified, usegmt=True)}


def _metadata(blob: Blob) -> dict[str, str]:
    return {f"{META}{name}": value for name, value in blob.metadata.items()}


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return base64.b64encode(hashlib.file_digest(file, "md5").digest()).decode()


def _listed_metadata(blob: Blob) -> str:
    return "".join(f"<{name}>{escape(value)}</{name}>" for name, value in blob.metadata.items())


def _listing(container: str, prefix: str, blobs: list[Blob], *, with_metadata: bool) -> str:
    items = "".join(
        f"<Blob><Name>{escape(blob.name)}</Name><Properties><Last-Modified>{formatdate(blob.modified, usegmt=True)}"
        f"</Last-Modified><Etag>{escape(blob.etag)}</Etag><Content-Length>{blob.size}</Content-Length>"
        f"<Content-Type>{escape(blob.content_type)}</Content-Type><BlobType>BlockBlob</BlobType></Properties>"
        f"{f'<Metadata>{_listed_metadata(blob)}</Metadata>' if with_metadata else ''}</Blob>"
        for blob in blobs
    )
    return (
        f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="{escape(container)}">'
        f"<Prefix>{escape(prefix)}</Prefix><Blobs>{items}</Blobs><NextMarker /></EnumerationResults>"
    )


def _unsupported(request: web.Request) -> BlobError:
    asked = f"{request.method} {request.path_qs}"
    return BlobError(400, "NotSupportedByLab", f"The lab's blob storage does not do {asked}: block blobs only.")


def _refusal(error: BlobError) -> web.Response:
    inner = f"<Code>{error.code}</Code><Message>{escape(str(error))}</Message>"
    body = f'<?xml version="1.0" encoding="utf-8"?><Error>{inner}</Error>'
    headers = {"x-ms-error-code": error.code}
    return web.Response(status=error.status, text=body, content_type="application/xml", headers=headers)
