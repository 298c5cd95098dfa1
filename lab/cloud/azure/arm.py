"""HTTP interface of the resource manager, ``management.azure.com``."""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from lab.cloud.azure import access, deletion, policy, queries, shared_keys
from lab.cloud.azure.actions import MachineActions
from lab.cloud.azure.changes import DURATIONS_S, ResourceChanges
from lab.cloud.azure.commands import RunCommands
from lab.cloud.azure.errors import ArmError, group_not_found, not_found
from lab.cloud.azure.gateways import ConnectionGateways
from lab.cloud.azure.grants import AssignmentChanges
from lab.cloud.azure.identity import TokenEndpoints, TokenError
from lab.cloud.azure.ids import ASSIGNMENT_TYPE, GROUP_RIGHTS, GROUP_TYPE, InvalidIdError, ResourceId, parse_id
from lab.cloud.azure.linked_rights import require_linked
from lab.cloud.azure.locks import free
from lab.cloud.azure.machines import MachineChanges
from lab.cloud.azure.operation_addresses import OPERATION, PRIVATE_DNS, operation_path, polling_right
from lab.cloud.azure.operations import Operations, shown
from lab.cloud.azure.puts import Puts
from lab.cloud.azure.render import render
from lab.cloud.azure.request_buckets import GET_OPERATION, RequestBuckets, policy_of
from lab.cloud.azure.resource_types import known_types, spec_of
from lab.cloud.azure.scale_sets import ScaleSets
from lab.cloud.azure.schema import (
    blob_container,
    gateway_connection,
    role_assignment,
    scale_set,
    scale_set_instance,
    storage_account,
    virtual_machine,
)
from lab.cloud.azure.schema.base import SubscriptionSettings
from lab.cloud.store import DocumentStore, ResourceDocument

log = logging.getLogger(__name__)

HOST = "management.azure.com"
AUDIENCES = ("https://management.azure.com", "https://management.core.windows.net")
VIEWED = (virtual_machine.TYPE, scale_set_instance.INSTANCE)
"""Types with an instance view."""
LONGEST_WAIT_S = 30.0
"""Longest wait in seconds: ``Prefer: wait=N`` (RFC 7240) on an operation holds the answer until it is finished, but no
longer than this."""


class ResourceManagerService:
    """Answers for ``management.azure.com``."""

    def __init__(
        self,
        *,
        store: DocumentStore,
        identity: TokenEndpoints,
        machines: MachineChanges,
        scale_sets: ScaleSets,
        commands: RunCommands,
        gateways: ConnectionGateways,
        changes: ResourceChanges,
        grants: AssignmentChanges,
        operations: Operations,
        settings: SubscriptionSettings,
        buckets: RequestBuckets | None = None,
    ) -> None:
        """``buckets`` limit requests; without them there is no limit."""
        self._store = store
        self._identity = identity
        self._machines = machines
        self._scale_sets = scale_sets
        self._gateways = gateways
        self._changes = changes
        self._grants = grants
        self._operations = operations
        self._settings = settings
        self._buckets = buckets
        self._types = known_types()
        self._puts = Puts(store=store, types=self._types, settings=settings)
        self._actions = MachineActions(store=store, machines=machines, scale_sets=scale_sets, commands=commands)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request; every refusal is an ARM error document."""
        try:
            response = await self._route(request)
        except ArmError as error:
            response = web.json_response(error.document(), status=error.status, headers=error.headers)
        except TokenError as problem:
            failed = ArmError(401, "AuthenticationFailed", f"Authentication failed. {problem}.")
            response = web.json_response(failed.document(), status=401)
            response.headers["WWW-Authenticate"] = (
                f'Bearer authorization_uri="https://login.microsoftonline.com/{self._settings.tenant}", '
                f'error="invalid_token", error_description="{failed.message}"'
            )
        except InvalidIdError as problem:
            response = web.json_response(ArmError(400, "InvalidResourceId", str(problem)).document(), status=400)
        response.headers.setdefault("x-ms-request-id", str(uuid.uuid4()))
        log.info("%s %s -> %s", request.method, request.path, response.status)
        return response

    async def _route(self, request: web.Request) -> web.Response:
        principal = self._identity.verify(request.headers.get("Authorization"), audiences=AUDIENCES)
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}(-preview)?", request.query.get("api-version", "")):
            raise ArmError(
                400,
                "MissingApiVersionParameter",
                "The api-version query parameter (?api-version=) is required for all requests, as YYYY-MM-DD.",
            )
        path = request.path.rstrip("/")
        remaining = self._charged(request.method, path)
        response = await self._answer(principal, request, path)
        response.headers.update(remaining)
        return response

    def _charged(self, method: str, path: str) -> Mapping[str, str]:
        """Count a request towards the limits, and return headers with the number of requests that are left."""
        if self._buckets is None:
            return {}
        operation = OPERATION.match(path)
        if operation:
            record = self._operations.get(operation["id"])
            policy = GET_OPERATION if "/providers/microsoft.compute/" in path.lower() else None
            resource = str(record["resource"])
        elif method == "GET" and queries.is_list(path):
            resource, _, name = path.rpartition("/")
            policy = policy_of(method, f"{queries.type_of(resource)}/{name}", lists=True)
        elif method == "POST":
            resource, _, action = path.rpartition("/")
            policy = policy_of(method, queries.type_of(resource), action=action)
        else:
            resource, policy = path, policy_of(method, queries.type_of(path))
        return self._buckets.take(policy, resource=resource, region=self._region(resource)) if policy else {}

    def _region(self, resource: str) -> str:
        """Return the region of a resource, or of its resource group if the resource does not exist yet."""
        group = re.match(r"(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+", resource)
        document = self._store.get(resource) or (self._store.get(group.group()) if group else None)
        return str(document.body.get("location", "")) if document else ""

    async def _answer(self, principal: access.Principal, request: web.Request, path: str) -> web.Response:
        operation = OPERATION.match(path)
        if operation and request.method == "GET":
            access.require(self._store, principal, action=polling_right(operation), scope=operation["scope"])
            return await self._operation(request, operation["id"])
        if purge := queries.DELETED_VAULT.match(path):
            right = "purge/action" if purge["purge"] else "read"
            action = f"Microsoft.KeyVault/locations/deletedVaults/{right}"
            access.require(self._store, principal, action=action, scope=purge["subscription"])
        answered = queries.answer(self._store, self._settings, method=request.method, path=path, query=request.query)
        if answered is not None:
            return web.json_response(answered) if answered else web.Response(status=204)
        key = shared_keys.PATH.match(path)
        if key:
            return await self._shared_key(principal, request, key)
        if request.method == "GET" and queries.is_list(path):
            return self._list(principal, request, path)
        if request.method == "POST":
            return await self._post(principal, request, path)
        resource = parse_id(path)
        if resource.type is None:
            raise ArmError(404, "NotFound", f"The lab's resource manager does not answer {request.method} {path}.")
        spec = spec_of(self._types, resource.type)
        verb = {"GET": "read", "HEAD": "read", "DELETE": "delete"}.get(request.method, "write")
        assignment = None
        if spec.type == ASSIGNMENT_TYPE:
            body = await _json(request) if request.method == "PUT" else None
            assignment = role_assignment.change(verb, self._store.get(resource.text), body)
        action = f"{GROUP_RIGHTS if spec.type == GROUP_TYPE else spec.type}/{verb}"
        access.require(self._store, principal, action=action, scope=resource.text, assignment=assignment)
        if request.method == "PUT":
            body = await _json(request)
            require_linked(self._store, principal, type=spec.type, scope=resource.text, body=body)
        return await self._resource(request, resource)

    async def _resource(self, request: web.Request, resource: ResourceId) -> web.Response:
        if request.method in ("PUT", "PATCH"):
            body, document = await _json(request), self._store.get(resource.text)
            if document is not None:
                scale_set.refuse_other_etag(document, request.headers.get("If-Match"))
            if request.method == "PUT":
                return self._put(resource, body)
            return self._written(self._puts.patch(resource, body), new=False)
        document = self._store.get(resource.text)
        if request.method == "DELETE":
            if document is not None:
                blob_container.refuse_other_etag(document, request.headers.get("If-Match"))
            return self._delete(document, resource)
        if document is None:
            raise self._missing(resource)
        if request.method == "HEAD":
            return web.Response(status=204)
        body = self._shown(document)
        if request.query.get("$expand") == "instanceView" and document.type in VIEWED:
            body["properties"]["instanceView"] = self._actions.instance_view(document)
        if document.type == gateway_connection.TYPE:
            # Only here: Azure's lists do not show a connection's state.
            body["properties"] |= self._gateways.connection_status(document)
        return web.json_response(body)

    async def _shared_key(
        self, principal: access.Principal, request: web.Request, match: re.Match[str]
    ) -> web.Response:
        document = shared_keys.connection(self._store, principal, match, method=request.method)
        if request.method == "GET":
            return web.json_response(shared_keys.shown(document))
        document = shared_keys.changed(self._store, document, await _json(request))
        headers = self._operation_headers(self._changes.written(document), document)
        return web.json_response(shared_keys.shown(document), headers=headers)

    def _put(self, resource: ResourceId, body: Any) -> web.Response:
        document, new = self._puts.put(resource, body)
        if document.type == ASSIGNMENT_TYPE and new:
            self._grants.made(document)
        if document.type == virtual_machine.TYPE:
            return self._begun(self._machines.created(document), document, new=new)
        if document.type in DURATIONS_S:
            return self._begun(self._changes.written(document), document, new=new)
        if document.type in PRIVATE_DNS:
            return self._begun(self._ended(document), document, new=new)
        if document.type == storage_account.TYPE and new:
            headers = self._operation_headers(self._ended(document), document)
            return web.Response(status=202, headers={key: headers[key] for key in ("Location", "Retry-After")})
        return self._written(document, new=new)

    def _ended(self, document: ResourceDocument) -> str:
        """Return the id of an operation that has already succeeded: Azure tells of these changes by operations, and the
        lab makes them at once."""
        operation = self._operations.start(resource_id=document.id)
        self._operations.succeed(operation)
        return operation

    def _written(self, document: ResourceDocument, *, new: bool) -> web.Response:
        if document.type == scale_set_instance.TYPE:
            return self._begun(self._scale_sets.written(document), document, new=new)
        return web.json_response(self._shown(document), status=201 if new else 200)

    def _begun(self, operation: str, document: ResourceDocument, *, new: bool) -> web.Response:
        """Return the answer for a resource whose operation has just begun."""
        document = self._store.get(document.id) or document
        headers = self._operation_headers(operation, document, location=False)
        return web.json_response(self._shown(document), status=201 if new else 200, headers=headers)

    def _delete(self, document: ResourceDocument | None, resource: ResourceId) -> web.Response:
        if document is None:
            if resource.type == GROUP_TYPE:
                raise group_not_found(resource.name)
            return web.Response(status=204)
        spec_of(self._types, document.type).in_use(self._store, document)
        free(self._store, document.id, document.type, document.body)
        if document.type == virtual_machine.TYPE:
            operation = self._machines.deleted(document)
            headers = self._operation_headers(operation, document)
            return web.Response(status=202, headers=headers)
        if document.type in scale_set_instance.TYPES:
            operation = self._scale_sets.deleted(document, self._types)
            headers = self._operation_headers(operation, document)
            return web.Response(status=202, headers=headers)
        if document.type in DURATIONS_S:
            operation = self._changes.deleted(document)
            headers = self._operation_headers(operation, document)
            return web.Response(status=202, headers=headers)
        if document.type == GROUP_TYPE:
            return self._delete_group(document)
        deletion.remove(self._types, self._store, document)
        if document.type in PRIVATE_DNS:
            return web.Response(status=202, headers=self._operation_headers(self._ended(document), document))
        return web.Response(status=200)

    def _delete_group(self, group: ResourceDocument) -> web.Response:
        operation = self._operations.start(resource_id=group.id)
        self._store.put(group.id, type=group.type, body=group.body, hidden={**group.hidden, "state": "Deleting"})
        self._machines.spawn(self._remove_group(group, operation))
        url = f"https://{HOST}{operation_path(group, operation)}?api-version=2024-03-01"
        return web.Response(status=202, headers={"Location": url, "Retry-After": "1"})

    async def _remove_group(self, group: ResourceDocument, operation: str) -> None:
        await self._scale_sets.removed(group, self._types)
        await deletion.remove_group(
            self._types, self._store, group, machines=self._machines, operations=self._operations, operation=operation
        )

    def govern(self, assignments: policy.Assignments, *, remediate: bool = False) -> None:
        """Set the subscription's policy assignments. With ``remediate``, make existing resources comply."""
        policy.assign(self._store, assignments)
        if remediate:
            self._puts.remediate()

    def resume(self) -> None:
        """Continue operations that a restart of the daemon interrupted: deletions of groups, changes that take time,
        and operations of machines."""
        self._operations.prune()
        for operation, record in self._operations.pending().items():
            group = self._store.get(record["resource"])
            if group and group.type == GROUP_TYPE and group.hidden.get("state") == "Deleting":
                self._machines.spawn(self._remove_group(group, operation))
        self._changes.resume()
        self._grants.resume()
        self._scale_sets.resume(self._types)
        self._machines.resume()

    async def _post(self, principal: access.Principal, request: web.Request, path: str) -> web.Response:
        target, _, action = path.rpartition("/")
        resource = parse_id(target)
        document = self._store.get(target)
        if document is None:
            raise self._missing(resource)
        spec = spec_of(self._types, document.type)
        access.require(self._store, principal, action=f"{spec.type}/{action}/action", scope=document.id)
        operation = self._actions.start(document, action, await _json(request) if request.can_read_body else None)
        if operation is None:
            return web.Response(status=204)
        return web.Response(status=202, headers=self._operation_headers(operation, document))

    def _list(self, principal: access.Principal, request: web.Request, path: str) -> web.Response:
        scope, documents = queries.listing(self._store, self._types, path=path, query=request.query)
        access.require(self._store, principal, action=queries.action_of(self._types, path), scope=scope)
        items = []
        for document in documents:
            body = self._shown(document)
            if request.query.get("$expand") == "instanceView" and document.type in VIEWED:
                body["properties"]["instanceView"] = self._actions.instance_view(document)
            items.append(body)
        return web.json_response({"value": items})

    async def _operation(self, request: web.Request, operation: str) -> web.Response:
        wait = re.search(r"wait=(\d+)", request.headers.get("Prefer", ""))
        timeout_s = min(float(wait.group(1)), LONGEST_WAIT_S) if wait else 0.0
        record = await self._operations.wait(operation, timeout_s=timeout_s)
        applied = {"Preference-Applied": wait.group(0)} if wait else {}
        monitors = "operationresults" in request.path or request.query.get("monitor") == "true"
        if not monitors:
            return web.json_response(shown(operation, record), headers={"Retry-After": "1", **applied})
        if record["status"] == "InProgress":
            return web.Response(status=202, headers={"Location": str(request.url), "Retry-After": "1", **applied})
        if record["status"] == "Failed":
            return web.json_response({"error": record["error"]}, status=409)
        output = record.get("output")
        return web.json_response(output) if output is not None else web.Response(status=200)

    def _operation_headers(
        self, operation: str, document: ResourceDocument, *, location: bool = True
    ) -> dict[str, str]:
        url = f"https://{HOST}{operation_path(document, operation)}?api-version=2024-11-01"
        headers = {"Azure-AsyncOperation": url, "Retry-After": "1"}
        return {**headers, "Location": f"{url}&monitor=true"} if location else headers

    def _shown(self, document: ResourceDocument) -> dict[str, Any]:
        return render(self._types, self._store, document)

    def _missing(self, resource: ResourceId) -> ArmError:
        if resource.type == GROUP_TYPE:
            return group_not_found(resource.name)
        if (
            resource.group
            and self._store.get(f"/subscriptions/{resource.subscription}/resourceGroups/{resource.group}") is None
        ):
            return group_not_found(resource.group)
        return not_found(resource.text)


async def _json(request: web.Request) -> Any:
    try:
        return await request.json()
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise ArmError(400, "InvalidRequestContent", f"The request content was invalid: {problem}") from problem
