"""Translates between the SDK's flattened inputs and outputs and the resource manager's bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.providers.tokens import Token

CONTAINERS = frozenset(
    {
        "location",
        "tags",
        "sku",
        "identity",
        "zones",
        "kind",
        "plan",
        "extendedLocation",
        "managedBy",
        "name",
        "type",
        "id",
    }
)
"""Keys beside ``properties`` in a body; all other inputs of a flat type go into ``properties``."""
WRAPPED = frozenset(
    {"subnets", "securityRules", "defaultSecurityRules", "frontendIPConfigurations", "backendAddressPools", "probes",
     "loadBalancingRules", "outboundRules", "inboundNatRules", "ipConfigurations", "loadBalancerBackendAddressPools",
     "networkInterfaces", "networkInterfaceConfigurations"}
)  # fmt: skip
"""Lists whose elements have ``properties`` of their own in the API (``x-ms-client-flatten`` in its specification)."""
OUTER = frozenset({"id", "name", "type", "etag", "zones"})
"""Keys that stay outside an element's ``properties``."""
READ_ONLY = frozenset(
    {"etag", "provisioningState", "resourceGuid", "systemData", "ipConfigurations", "backendIPConfigurations", "vmId",
     "hostedWorkloads", "tapConfigurations", "virtualMachine", "networkInterfaces", "subnets", "ipAddress", "ipTags",
     "natGateway", "fqdn", "isAutoRegistered", "vaultUri", "principalId", "clientId", "tenantId", "numberOfRecordSets",
     "numberOfVirtualNetworkLinks", "virtualNetworkLinkState", "defaultSecurityRules", "azureApiVersion", "primary",
     "connectionStatus", "tunnelConnectionStatus", "ingressBytesTransferred", "egressBytesTransferred",
     "peeringState", "peeringSyncLevel", "remoteAddressSpace", "remoteVirtualNetworkAddressSpace"}
)  # fmt: skip


WITH_CONFIGURATIONS = ("networkInterfaces", "virtualNetworkGateways")
"""Types whose IP configurations are inputs, not only outputs."""


def to_body(token: Token, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a PUT."""
    renamed: dict[str, Any] = _renamed(inputs, token.renamed)
    given = {key: value for key, value in renamed.items() if key not in token.parameters and not key.startswith("__")}
    beside = CONTAINERS - token.inner
    body = {key: value for key, value in given.items() if not token.flat or key in beside}
    body.pop("id", None)
    if token.flat:
        body["properties"] = {key: _wrap(value, key) for key, value in given.items() if key not in beside}
    identity = body.get("identity")
    if isinstance(identity, dict) and isinstance(identity.get("userAssignedIdentities"), list):
        body["identity"] = {
            **identity,
            "userAssignedIdentities": {key: {} for key in identity["userAssignedIdentities"]},
        }
    return body


def to_outputs(token: Token, body: dict[str, Any]) -> dict[str, Any]:
    """Return the SDK's outputs of an answer."""
    outputs = {key: value for key, value in body.items() if key != "properties" or not token.flat}
    if token.flat:
        outputs |= {key: _unwrap(value, key) for key, value in body.get("properties", {}).items()}
    outputs["azureApiVersion"] = token.api_version
    ours = {there: here for here, there in token.renamed.items()}
    # Below a property that is renamed, others may be too; beside it, `id` is the resource's own.
    top = {key: value for key, value in outputs.items() if key == "id" or key not in ours}
    return top | {ours[key]: _renamed(outputs[key], ours) for key in outputs.keys() - top.keys()}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {names.get(key, key): _renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return value


def imported_inputs(token: Token, resource_id: str, outputs: dict[str, Any]) -> dict[str, Any]:
    """Return inputs for an imported resource: the values of the cloud's answer, without those that only the cloud
    writes."""
    readonly = READ_ONLY | ({"name", "type", "id"} if not token.type.endswith("/subnets") else {"type", "id"})
    assigned = (
        {"principalId"} if token.guid else {"ipConfigurations"} if token.type.endswith(WITH_CONFIGURATIONS) else set()
    )
    kept = {key: _bare(value) for key, value in outputs.items() if key not in readonly - assigned}
    if token.type.endswith("/subnets"):
        kept["natGateway"] = outputs.get("natGateway")
    if "identity" in kept:
        kept["identity"] = _identity_inputs(outputs["identity"])
    if token.type == "Microsoft.Resources/resourceGroups":
        kept.pop("properties", None)
    return {key: value for key, value in {**kept, **token.names(resource_id)}.items() if value is not None}


def refreshed_inputs(inputs: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs of an Azure resource with the changes of the cloud between two reads. New tags, and an identity
    that appeared in the cloud, become inputs, as in the real plugin (pulumi-azure-native provider/pkg/provider/diff.go,
    ``applyDiff``). The real plugin also does this for all other properties that can be inputs."""
    changed = changed_inputs(inputs, before, now)
    tags = before.get("tags") or {}
    appeared = {key: value for key, value in (now.get("tags") or {}).items() if key not in tags}
    if appeared:
        changed["tags"] = {**(changed.get("tags") or {}), **appeared}
    if "identity" in now and "identity" not in before:
        changed.setdefault("identity", _identity_inputs(now["identity"]))
    return changed


def _identity_inputs(identity: dict[str, Any]) -> dict[str, Any]:
    ids = list(identity.get("userAssignedIdentities", {}))
    return {"type": identity["type"], **({"userAssignedIdentities": ids} if ids else {})}


def changed_inputs(inputs: dict[str, Any], before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with the changes of the cloud between two reads; inputs that the cloud never showed stay."""
    changed = dict(inputs)
    for key, value in inputs.items():
        if key not in now or now.get(key) == before.get(key):
            if key in before and key not in now:
                del changed[key]
            continue
        changed[key] = _merge(value, before.get(key), now[key])
    return changed


def _merge(value: Any, before: Any, now: Any) -> Any:
    if isinstance(value, dict) and isinstance(now, dict):
        return changed_inputs(value, before if isinstance(before, dict) else {}, now)
    if isinstance(value, list) and isinstance(now, list) and len(value) == len(now):
        old = before if isinstance(before, list) and len(before) == len(now) else [None] * len(now)
        return [_merge(item, old[index], now[index]) for index, item in enumerate(value)]
    if isinstance(value, list) and isinstance(now, dict):
        return list(now)
    return _bare(now)


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _bare(inner) for key, inner in value.items() if key not in ("etag", "provisioningState", "vaultUri")
        }
    return [_bare(item) for item in value] if isinstance(value, list) else value


def _wrap(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _wrap(inner, name) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    items = [_wrap(item, "") for item in value]
    return [_wrapped(item) for item in items] if key in WRAPPED else items


def _wrapped(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    inner = {key: value for key, value in item.items() if key not in OUTER}
    outer = {key: value for key, value in item.items() if key in OUTER}
    return {**outer, "properties": inner} if inner else outer


def _unwrap(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _unwrap(inner, name) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    items = [_unwrap(item, "") for item in value]
    return [_unwrapped(item) for item in items] if key in WRAPPED else items


def _unwrapped(item: Any) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get("properties"), dict):
        return item
    return {**{key: value for key, value in item.items() if key != "properties"}, **item["properties"]}
