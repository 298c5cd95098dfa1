"""The stack of an environment after ``longhaul up``, made without a cloud. Each resource is as in a preview of the real
engine. Where a preview cannot know a value, it is like a cloud's (:mod:`tests.support.whole`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any
from unittest import mock

from pulumi.runtime import rpc

from clouds.base.inputs import MASKED, SECRET, SIGNATURE, UNKNOWN
from components.control_plane.issuing import new_authority, new_key
from components.model import Environment
from tests.support import whole
from tests.support.declared import Declared, plain
from tests.support.whole import cloud

KEPT = ("urn", "custom", "type", "parent", "dependencies", "propertyDependencies", "additionalSecretOutputs")
"""Keys of a resource in the state, besides its values (pulumi v3.250.0, ``sdk/go/common/apitype/core.go``)."""


def resources(preview: Mapping[str, Any], environment: Environment) -> list[dict[str, Any]]:
    """Return the resources of a stack's state, from the preview of its creation."""
    with mock.patch.object(whole, "cloud", _answer):
        program = whole.declare_whole(environment)
    declared = {(one.type, one.name): one for one in program.resources}
    made = [_resource(step["newState"], declared) for step in preview["steps"]]
    stack, *others = made
    providers = {one["provider"].rpartition("::")[0] for one in others if "provider" in one}
    known = {one["urn"] for one in others}
    return [stack, *(_default(urn) for urn in sorted(providers - known)), *others]


def _resource(new: Mapping[str, Any], declared: Mapping[tuple[str, str], Declared]) -> dict[str, Any]:
    kept = {key: new[key] for key in KEPT if key in new}
    name = new["urn"].rpartition("::")[2]
    if not new["custom"]:
        return kept
    one = declared[new["type"], name]
    inputs = _filled(new.get("inputs", {}), _secrets_marked(one.inputs))
    outputs = {**inputs, **_answer(one)}
    secret = {key: _secret(outputs[key]) for key in one.secret_outputs if key in outputs}
    hooks = {"resourceHooks": new["resourceHooks"]} if "resourceHooks" in new else {}
    provider = new.get("provider")
    reference = {"provider": f"{(urn := provider.rpartition('::')[0])}::{_id(urn)}"} if provider else {}
    return {**kept, **hooks, **reference, "id": _id(new["urn"]), "inputs": inputs, "outputs": {**outputs, **secret}}


def _answer(resource: Declared) -> dict[str, Any]:
    """Return the outputs of clouds and vault, with everything that the engine's plugins and providers read."""
    kind = resource.type.rpartition(":")[2]
    if kind in ("CertificateAuthority", "Certificate"):
        return {**cloud(resource), "certificate": _certificate()}
    if kind == "Readiness":
        return {**cloud(resource), "cluster": "c0ffee"}
    if kind == "OpenIdConnectProvider":
        return {**cloud(resource), "arn": f"{resource.name}-arn"}
    named = {"VirtualNetwork": "virtualNetworkName", "PrivateZone": "privateZoneName"}
    return {**cloud(resource), **({"name": resource.inputs[named[kind]]} if kind in named else {})}


@cache
def _certificate() -> str:
    """Return a certificate that is far from its end, PEM."""
    return new_authority(common_name="the state's", days=3650, key=new_key()).certificate


def _default(urn: str) -> dict[str, Any]:
    """Return a provider that the engine makes itself, and which a preview leaves out."""
    kinship, name = urn.split("::")[2:]
    number = name.removeprefix("default").strip("_").replace("_", ".")
    inputs = {"version": number} if number else {}
    return {"urn": urn, "custom": True, "type": kinship, "id": _id(urn), "inputs": inputs, "outputs": inputs}


def _id(urn: str) -> str:
    """Return the id that the program's stand-in for a cloud gives."""
    return f"{urn.rpartition('::')[2]}-id"


def _secret(value: Any) -> dict[str, Any]:
    """Return a secret as a state has it before the engine encrypts it."""
    if isinstance(value, dict) and SIGNATURE in value:
        return value
    return {SIGNATURE: SECRET, "plaintext": json.dumps(value)}


def _secrets_marked(value: Any) -> Any:
    if rpc.is_rpc_secret(value):
        return _secret(plain(value))
    if isinstance(value, dict):
        return {key: _secrets_marked(inner) for key, inner in value.items()}
    return [_secrets_marked(inner) for inner in value] if isinstance(value, list) else value


def _filled(checked: Any, declared: Any) -> Any:
    """Return the plugin's inputs, with the program's values where these are unknown or masked."""
    if checked in (UNKNOWN, MASKED):
        return declared
    if isinstance(checked, dict) and isinstance(declared, dict) and SIGNATURE not in declared:
        return {key: _filled(inner, declared.get(key, inner)) for key, inner in checked.items()}
    if isinstance(checked, list) and isinstance(declared, list) and len(checked) == len(declared):
        return [_filled(*pair) for pair in zip(checked, declared, strict=True)]
    return checked
