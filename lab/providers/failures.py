"""Telling the engine that a resource exists although it is not well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import grpc
from google.protobuf import any_pb2
from pulumi.runtime.proto import provider_pb2, status_pb2

from lab.providers.values import to_struct


def init_failed(
    context: Any, *, id: str, outputs: dict[str, Any], inputs: dict[str, Any], reason: str, details: Sequence[str] = ()
) -> NoReturn:
    """Abort the call so that the resource gets into the state, and the next run repairs it."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=id, properties=to_struct(outputs), inputs=to_struct(inputs), reasons=[reason, *details]
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=reason, details=[packed])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, reason)
    raise AssertionError("abort raises")
