# ruff: noqa: N802, ARG002 - the methods and their arguments are the protocol's
"""gRPC service of the azure-native stand-in."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import uuid
from typing import Any

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import provider_pb2, status_pb2

from clouds.base.inputs import UNKNOWN
from lab.providers.azure_lookups import look_up, lookup_of
from lab.providers.base import BaseProvider, type_of
from lab.providers.client import OperationCancelledError, ResourceManagerClient, ResourceManagerError
from lab.providers.protocol import log_to_engine
from lab.providers.shapes import imported_inputs, refreshed_inputs, to_body, to_outputs
from lab.providers.tokens import Token, known_tokens
from lab.providers.values import from_struct, keep_secrets, plain, preview_outputs, to_struct

TIMEOUT_S = 7200.0
"""Default of the real plugin, in seconds."""
CREATE_VARIABLE = "LAB_AZURE_CREATE"
"""Environment variable. With ``refuse``, creating a resource that exists fails, as with the real plugin. Otherwise the
resource is adopted, with a warning."""
STABLE = ("name", "location")
"""Outputs that stay when a resource is updated in place, as the real plugin knows."""


class AzureProvider(BaseProvider):
    """Creates, reads, updates and deletes the resources of :func:`known_tokens`; it can preview all others too."""

    def __init__(self, *, engine: str | None, client: ResourceManagerClient | None = None) -> None:
        super().__init__(package="azure-native", distribution="pulumi-azure-native", engine=engine)
        self._client = client or ResourceManagerClient()
        self._tokens = known_tokens()
        self._location = os.environ.get("ARM_LOCATION", "")
        self._owned: set[str] = set()

    def forced(self, type: str) -> frozenset[str]:
        """Return the paths whose change replaces the resource: parts of the id, the location, and the paths of
        :mod:`lab.cloud.azure.immutable`."""
        from lab.cloud.azure.immutable import fixed_properties

        token = self._tokens.get(type)
        if token is None:
            return frozenset()
        table = (
            fixed_property
            for fixed_property in fixed_properties()
            if fixed_property.answer == "replaced" and fixed_property.type in ("*", token.type)
        )
        paths = {property_.path.removeprefix("properties.") if token.flat else property_.path for property_ in table}
        return frozenset({*token.parameters, *paths})

    def Configure(self, request: Any, context: Any) -> Any:
        self._location = request.variables.get("azure-native:config:location", self._location)
        return super().Configure(request, context)

    def Cancel(self, request: Any, context: Any) -> Any:
        self._client.cancelled.set()
        return empty_pb2.Empty()

    def Check(self, request: Any, context: Any) -> Any:
        """Fill in the name and the location if the program left them out."""
        token = self._tokens.get(type_of(request.urn))
        if token is None:
            return super().Check(request, context)
        inputs, old = from_struct(request.news), from_struct(request.olds)
        if inputs.get(token.name) is None:
            inputs[token.name] = old.get(token.name) or _auto_name(token, request)
            inputs["__createBeforeDelete"] = True
        location = inputs.get("location") or old.get("location") or self._location
        if token.located and location:
            inputs["location"] = location
        missing = [name for name in token.parameters if inputs.get(name) is None]
        failures = [
            provider_pb2.CheckFailure(property=name, reason=f"missing required property '{name}'") for name in missing
        ]
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=failures)

    def Diff(self, request: Any, context: Any) -> Any:
        """Compare the inputs, and remember that the state has the resource: a creation under the same id would replace
        the resource in place."""
        self._owned.add(request.id.lower())
        return super().Diff(request, context)

    def Create(self, request: Any, context: Any) -> Any:
        """PUT, and wait. Adopt a resource that a killed run left under the same id."""
        inputs = from_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=to_struct(preview_outputs(inputs)))
        token = self._token(request.urn, context)
        try:
            resource_id = token.id(plain(inputs), subscription=self._client.subscription)
            existing = self._client.get(resource_id, api_version=token.api_version)
            if existing is not None:
                self._existing(request.urn, resource_id)
        except (ResourceManagerError, OperationCancelledError) as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"{resource_id_of(token, inputs)}: {problem}")
        resource_id, outputs = self._write(token, resource_id, inputs, request, context)
        return provider_pb2.CreateResponse(id=resource_id, properties=to_struct(outputs))

    def Update(self, request: Any, context: Any) -> Any:
        """PUT, and wait."""
        inputs, old = from_struct(request.news), from_struct(request.olds)
        if request.preview:
            stable = {key: old[key] for key in STABLE if key in old}
            return provider_pb2.UpdateResponse(properties=to_struct({**preview_outputs(inputs), **stable}))
        token = self._token(request.urn, context)
        _, outputs = self._write(token, request.id, inputs, request, context)
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Read(self, request: Any, context: Any) -> Any:
        """Read the resource, for refresh and import; an empty id means that the resource is gone."""
        token = self._token(request.urn, context)
        try:
            document = self._client.get(request.id, api_version=token.api_version)
        except (ResourceManagerError, OperationCancelledError) as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot read {request.id}: {problem}")
        if document is None:
            return provider_pb2.ReadResponse(id="")
        outputs = to_outputs(token, document)
        inputs, before = from_struct(request.inputs), from_struct(request.properties)
        if inputs:
            inputs = refreshed_inputs(inputs, plain(before), outputs)
        else:
            inputs = imported_inputs(token, document["id"], outputs)
        properties = to_struct(keep_secrets(outputs, inputs))
        return provider_pb2.ReadResponse(id=document["id"], properties=properties, inputs=to_struct(inputs))

    def Delete(self, request: Any, context: Any) -> Any:
        """Delete the resource, and wait until it is gone."""
        token = self._token(request.urn, context)
        try:
            timeout_s = request.timeout or TIMEOUT_S
            self._client.delete(request.id, api_version=token.api_version, timeout_s=timeout_s)
        except (ResourceManagerError, OperationCancelledError) as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"cannot delete {request.id}: {problem}")
        self._owned.discard(request.id.lower())
        return empty_pb2.Empty()

    def Invoke(self, request: Any, context: Any) -> Any:
        """Return the current identity, or look up a resource."""
        token = lookup_of(self._tokens, request.tok)
        if token is not None:
            return self._look_up(token, request, context)
        if request.tok != "azure-native:authorization:getClientConfig":
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED, f"the lab's azure-native does not have the function {request.tok}"
            )
        values = {
            "clientId": os.environ.get("ARM_CLIENT_ID") or os.environ.get("AZURE_CLIENT_ID") or UNKNOWN,
            "tenantId": os.environ.get("ARM_TENANT_ID") or os.environ.get("AZURE_TENANT_ID") or UNKNOWN,
            "subscriptionId": os.environ.get("ARM_SUBSCRIPTION_ID")
            or os.environ.get("AZURE_SUBSCRIPTION_ID")
            or UNKNOWN,
            "objectId": os.environ.get("LAB_OPERATOR_OBJECT_ID") or UNKNOWN,
        }
        if values["objectId"] == UNKNOWN and not request.preview:
            try:
                values["objectId"] = _claims(self._client.token())["oid"]
            except Exception as problem:  # noqa: BLE001 - azure-identity raises many kinds, all mean the same here
                context.abort(grpc.StatusCode.UNAUTHENTICATED, f"cannot tell who we are in Azure: {problem}")
        return _invoke_response(values)

    def _look_up(self, token: Token, request: Any, context: Any) -> Any:
        try:
            return _invoke_response(
                look_up(token, plain(from_struct(request.args)), self._client, preview=request.preview)
            )
        except (ResourceManagerError, OperationCancelledError) as problem:
            context.abort(grpc.StatusCode.UNKNOWN, f"{request.tok}: {problem}")
            raise AssertionError("abort raises") from problem

    def _write(
        self, token: Token, resource_id: str, inputs: dict[str, Any], request: Any, context: Any
    ) -> tuple[str, dict[str, Any]]:
        started = False
        try:
            body = to_body(token, plain(inputs))
            response = self._client.put(resource_id, body, api_version=token.api_version)
            started = True
            self._client.finish(response, timeout_s=request.timeout or TIMEOUT_S)
            document = self._client.get(resource_id, api_version=token.api_version)
        except (ResourceManagerError, OperationCancelledError) as problem:
            if started:
                self._half_made(token, resource_id, inputs, problem, context)
            context.abort(grpc.StatusCode.UNKNOWN, f"{resource_id}: {problem}{_advice(problem)}")
        if document is None:
            context.abort(grpc.StatusCode.UNKNOWN, f"{resource_id} was made and is gone again: something deletes it")
            raise AssertionError("abort raises")
        return document["id"], keep_secrets(to_outputs(token, document), inputs)

    def _half_made(
        self, token: Token, resource_id: str, inputs: dict[str, Any], problem: Exception, context: Any
    ) -> None:
        """Tell the engine that the resource exists although it is not healthy, so that the next run updates it."""
        try:
            document = self._client.get(resource_id, api_version=token.api_version)
        except (ResourceManagerError, OperationCancelledError):
            document = None
        outputs = keep_secrets(to_outputs(token, document), inputs) if document else {}
        detail = provider_pb2.ErrorResourceInitFailed(
            id=resource_id, properties=to_struct(outputs), inputs=to_struct(inputs), reasons=[str(problem)]
        )
        packed = any_pb2.Any()
        packed.Pack(detail)
        status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(problem), details=[packed])
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, str(problem))

    def _existing(self, urn: str, resource_id: str) -> None:
        if os.environ.get(CREATE_VARIABLE) == "refuse" or resource_id.lower() in self._owned:
            raise ResourceManagerError(0, "AlreadyExists", f"cannot create already existing resource '{resource_id}'")
        message = (
            f"{resource_id} exists already and is adopted. The real plugin refuses this: there it must be imported."
        )
        log_to_engine(self.engine, urn=urn, message=message)

    def _token(self, urn: str, context: Any) -> Token:
        type = type_of(urn)
        token = self._tokens.get(type)
        if token is None:
            known = ", ".join(sorted(self._tokens))
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"the lab's Azure does not have {type}: it can be previewed, not made. The lab has {known}.",
            )
            raise AssertionError("abort raises")
        return token


def _invoke_response(values: dict[str, Any]) -> Any:
    response = provider_pb2.InvokeResponse()
    getattr(response, "return").CopyFrom(to_struct(values))  # a keyword of Python
    return response


def resource_id_of(token: Token, inputs: dict[str, Any]) -> str:
    """Return a resource's type and name for error messages, for use when its id cannot be made."""
    return f"{token.type} {plain(inputs).get(token.name, '')}"


def _auto_name(token: Token, request: Any) -> str:
    """Return a name as azure-native makes it: the resource's name and 8 hexadecimal digits. The same seed gives the
    same digits."""
    digest = hashlib.sha256(request.randomSeed + request.urn.encode()).digest()
    if token.guid:
        return str(uuid.UUID(bytes=digest[:16], version=4))
    return f"{request.urn.rsplit('::', 1)[-1]}{digest.hex()[:8]}"


def _advice(problem: Exception) -> str:
    if isinstance(problem, ResourceManagerError) and problem.code == "PropertyChangeNotAllowed":
        return (
            ". Azure does not change this in place and azure-native does not replace for it by itself: name the "
            "property in the "
            "resource's replace_on_changes option"
        )
    return ""


def _claims(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return decoded
