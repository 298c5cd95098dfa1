"""Pulumi's property values: secrets and unknowns inside plain JSON.

The markers are the engine's own (sdk/go/common/resource/sig and resource/plugin in pulumi/pulumi).
"""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format, struct_pb2

from clouds.base.inputs import SECRET, SIGNATURE, UNKNOWN


def from_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Return a message's properties as plain values; whole numbers become ``int`` again."""
    converted = _whole(json_format.MessageToDict(struct))
    return converted if isinstance(converted, dict) else {}


def to_struct(values: dict[str, Any]) -> struct_pb2.Struct:
    """Return plain values as a message."""
    struct = struct_pb2.Struct()
    json_format.ParseDict(values, struct)
    return struct


def is_secret(value: Any) -> bool:
    """Return whether a value is marked as a secret."""
    return isinstance(value, dict) and value.get(SIGNATURE) == SECRET


def secret(value: Any) -> dict[str, Any]:
    """Mark a value as a secret."""
    return {SIGNATURE: SECRET, "value": value}


def plain(value: Any) -> Any:
    """Return the value without secret markers, and without nulls in maps, including secret nulls."""
    if is_secret(value):
        return plain(value.get("value"))
    if isinstance(value, dict):
        return {key: converted for key, inner in value.items() if (converted := plain(inner)) is not None}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def holds_secret(value: Any) -> bool:
    """Return whether there is a secret anywhere inside."""
    if isinstance(value, dict):
        return is_secret(value) or any(holds_secret(inner) for inner in value.values())
    return isinstance(value, list) and any(holds_secret(item) for item in value)


def holds_unknown(value: Any) -> bool:
    """Return whether there is an unknown anywhere inside."""
    if isinstance(value, dict):
        return any(holds_unknown(inner) for inner in value.values())
    if isinstance(value, list):
        return any(holds_unknown(item) for item in value)
    return isinstance(value, str) and value == UNKNOWN


def keep_secrets(outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Mark each output whose input of the same name held a secret."""
    return {
        key: secret(value) if holds_secret(inputs.get(key)) and not is_secret(value) else value
        for key, value in outputs.items()
    }


def preview_outputs(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs that are known before a resource exists: the inputs that the cloud returns unchanged.

    Objects gain fields in the cloud's answer (ids, defaults), so a preview treats each object as wholly unknown.
    """
    return {key: value if _flat(value) else UNKNOWN for key, value in inputs.items() if not key.startswith("__")}


def _flat(value: Any) -> bool:
    inner = value.get("value") if is_secret(value) else value
    if isinstance(inner, dict):
        return not any(isinstance(item, dict | list) for item in inner.values()) and not _object(inner)
    if isinstance(inner, list):
        return not any(isinstance(item, dict | list) for item in inner)
    return True


def _object(value: dict[str, Any]) -> bool:
    """Return whether a map is an object, recognized by the keys of SDKs' objects. A map of tags is not an object."""
    return bool({"id", "name", "type", "family", "tier", "arn"} & value.keys())


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
