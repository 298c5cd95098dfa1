"""Objects as the real plugin keeps them in the state: inputs, the live object, and the parts that are secret.

After pulumi-kubernetes, ``provider/pkg/provider/provider.go`` and ``util.go``.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from lab.providers.values import holds_secret, is_secret, plain, secret

Object = dict[str, Any]
AUTONAMED = "pulumi.com/autonamed"
PATCH_FORCE = "pulumi.com/patchForce"
TIMEOUT = "pulumi.com/timeoutSeconds"
WAIT_FOR = "pulumi.com/waitFor"
PROPAGATION = "pulumi.com/deletionPropagationPolicy"
READ_ONLY = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
"""Fields of an object's metadata that only the API server writes."""
DASHED = (
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
)
"""Keys of schemas that the SDKs write with underscores."""


def from_properties(properties: Object) -> Object:
    """Return the object for the API server: without secret markers and nulls, and with the API's own keys."""
    named = _renamed(plain(properties), {key.replace("-", "_"): key for key in DASHED})
    return dict(named)


def normalized(obj: Object) -> Object:
    """Return the object as the API server will show it: a Secret's ``stringData`` is in its ``data``."""
    result = {key: value for key, value in obj.items() if not key.startswith("__")}
    result["metadata"] = {key: value for key, value in metadata(obj).items() if key not in READ_ONLY}
    if is_kind(obj, "v1", "Secret"):
        data = {key: _base64(value) for key, value in (obj.get("data") or {}).items()}
        for key, value in (result.pop("stringData", None) or {}).items():
            data[key] = base64.b64encode(str(value).encode()).decode()
        if data:
            result["data"] = data
    return result


def pruned(live: Any, shape: Any) -> Any:
    """Return ``live`` with only the parts that ``shape`` has too."""
    if isinstance(live, dict) and isinstance(shape, dict):
        return {key: pruned(value, shape[key]) for key, value in live.items() if key in shape}
    if isinstance(live, list) and isinstance(shape, list):
        return [pruned(value, shape[index]) for index, value in enumerate(live[: len(shape)])]
    return live


def with_unshown(observed: Any, inputs: Any, before: Any) -> Any:
    """Return ``observed``, and add the ``inputs`` that neither ``observed`` nor ``before`` (the object as last shown)
    contains. The API server leaves out empty values, so their absence is no difference. (The real plugin knows every
    kind's fields.)"""
    if isinstance(observed, dict) and isinstance(inputs, dict) and isinstance(before, dict):
        hidden = {key: value for key, value in inputs.items() if key not in observed and key not in before}
        shown = {key: with_unshown(value, inputs.get(key), before.get(key)) for key, value in observed.items()}
        return {**shown, **hidden}
    if isinstance(observed, list) and isinstance(inputs, list) and isinstance(before, list):
        longest = max(len(inputs), len(before))
        padded = [[*items, *[None] * (longest - len(items))] for items in (inputs, before)]
        return [with_unshown(value, *rest) for value, *rest in zip(observed, *padded, strict=False)]
    return observed


def checkpoint(inputs: Object, live: Object, given: Object, *, field_manager: str) -> Object:
    """Return the object for the state: all of the live object, and the inputs that made it."""
    kept = {
        **_state(live, given),
        "__inputs": _state(inputs, given),
        "__initialApiVersion": inputs.get("apiVersion", ""),
        "__fieldManager": field_manager,
    }
    if is_kind(live, "v1", "Secret") and isinstance(kept.get("data"), dict) and not is_secret(kept["data"]):
        kept["data"] = secret(kept["data"])
    return kept


def checkpointed(state: Object) -> tuple[Object, Object]:
    """Return the inputs and the live object from a state."""
    inputs = state.get("__inputs") or {}
    live = {key: value for key, value in state.items() if not key.startswith("__")}
    return from_properties(inputs), from_properties(live)


def with_secrets(values: Object, given: Object) -> Object:
    """Mark the values that are secret in ``given``. A value that holds a secret is marked as a whole; in a map, only
    the entries with secrets are marked."""
    result = dict(values)
    if values.get("kind") == "Secret":
        for key in ("data", "stringData"):
            if key in values and not is_secret(values[key]):
                result[key] = secret(values[key])
        return result
    for key, value in given.items():
        if key not in result or is_secret(result[key]) or not holds_secret(value):
            continue
        inner = result[key]
        if isinstance(inner, dict) and isinstance(value, dict) and not is_secret(value):
            result[key] = with_secrets(inner, value)
        else:
            result[key] = secret(inner)
    return result


def metadata(obj: Object) -> Object:
    """Return an object's metadata, empty when it has none."""
    meta = obj.get("metadata")
    return meta if isinstance(meta, dict) else {}


def annotation(obj: Object, key: str) -> str:
    """Return one annotation, empty when the object does not have it."""
    values = metadata(obj).get("annotations")
    return str(values.get(key, "")) if isinstance(values, dict) else ""


def is_kind(obj: Object, api_version: str, kind: str) -> bool:
    """Return whether an object is of one kind."""
    return obj.get("apiVersion") == api_version and obj.get("kind") == kind


def object_id(obj: Object) -> str:
    """Return ``namespace/name``, or the name alone."""
    meta = metadata(obj)
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta.get("name", ""))


def id_parts(identity: str) -> tuple[str | None, str]:
    """Return the namespace and the name of an id."""
    namespace, _, name = identity.rpartition("/")
    return namespace or None, name


def _state(obj: Object, given: Object) -> Object:
    return with_secrets(dict(_renamed(obj, {key: key.replace("-", "_") for key in DASHED})), given)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
    return [_renamed(item, names) for item in value] if isinstance(value, list) else value


def _base64(value: Any) -> Any:
    """Return base64 as the API server writes it. Return a value that is not base64 unchanged; the server will refuse
    it."""
    try:
        return base64.b64encode(base64.b64decode(value)).decode()
    except (binascii.Error, ValueError, TypeError):
        return value
