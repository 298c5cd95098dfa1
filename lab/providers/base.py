# ruff: noqa: N802, ARG002 - the methods and their arguments are the protocol's
"""Base of the stand-in plugins, with everything that needs no call of a cloud."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NoReturn

import grpc
from google.protobuf import any_pb2, empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from lab.providers.differ import differences, replaces
from lab.providers.values import from_struct, preview_outputs, to_struct


class BaseProvider(provider_pb2_grpc.ResourceProviderServicer):
    """A provider that can preview anything and create nothing."""

    def __init__(self, *, package: str, distribution: str, engine: str | None) -> None:
        self.package = package
        self.engine = engine
        self._distribution = distribution

    def forced(self, type: str) -> frozenset[str]:
        """Return the paths whose change forces a replacement of a resource of this type."""
        return frozenset()

    def compared(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs that a difference is looked for in."""
        return inputs

    def Handshake(self, request: Any, context: Any) -> Any:
        self.engine = request.engine_address or self.engine
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=metadata.version(self._distribution))

    def GetSchema(self, request: Any, context: Any) -> Any:
        schema = {"name": self.package, "version": metadata.version(self._distribution), "resources": {}}
        return provider_pb2.GetSchemaResponse(schema=json.dumps(schema))

    def Attach(self, request: Any, context: Any) -> Any:
        self.engine = request.address
        return empty_pb2.Empty()

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def GetMapping(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingsResponse()

    def Check(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        old = from_struct(request.old_inputs if request.HasField("old_inputs") else request.olds)
        changes = differences(self.compared(old), self.compared(from_struct(request.news)))
        response = provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if changes else provider_pb2.DiffResponse.DIFF_NONE,
            hasDetailedDiff=True,
        )
        forced = self.forced(type_of(request.urn))
        tops: dict[str, None] = {}
        for path, kind in changes.items():
            top = path.partition(".")[0].partition("[")[0]
            tops[top] = None
            forces = replaces(path, forced)
            if forces and top not in response.replaces:
                response.replaces.append(top)
            number = provider_pb2.PropertyDiff.Kind.Value(f"{kind.upper()}_REPLACE" if forces else kind.upper())
            response.detailedDiff[path].CopyFrom(provider_pb2.PropertyDiff(kind=number, inputDiff=True))
        response.diffs.extend(tops)
        # As in the real plugin: a resource that we named can be made before its predecessor is deleted; one that the
        # user named cannot.
        response.deleteBeforeReplace = bool(response.replaces) and not old.get("__createBeforeDelete")
        return response

    def previewed(self, properties: Any) -> Any:
        """Return a preview's answer for a new resource."""
        return to_struct(preview_outputs(from_struct(properties)))


def type_of(urn: str) -> str:
    """Return the resource type in a URN (``urn:pulumi:stack::project::parents$type::name``)."""
    return urn.split("::")[2].rpartition("$")[2]


def init_failed(
    context: Any, *, id: str, outputs: dict[str, Any], inputs: dict[str, Any], reason: str, details: Sequence[str] = ()
) -> NoReturn:
    """Abort the call, and report that the resource exists but is not healthy. The engine then stores the resource in
    the state, and the next run repairs it."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=id, properties=to_struct(outputs), inputs=to_struct(inputs), reasons=[reason, *details]
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=reason, details=[packed])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, reason)
    raise AssertionError("abort raises")
