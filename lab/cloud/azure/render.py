"""Renders stored documents as the resource manager shows resources."""

from __future__ import annotations

from typing import Any

from lab.cloud.azure.ids import ASSIGNMENT_TYPE
from lab.cloud.azure.schema import scale_set, scale_set_instance, user_assigned_identity, virtual_network
from lab.cloud.azure.schema.base import TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument
from lab.desired import MachineState

WITHOUT_STATE = frozenset({ASSIGNMENT_TYPE, user_assigned_identity.TYPE})


def render(types: dict[str, TypeSpec], store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the whole answer for one resource: the body that a client has put, with the cloud's additions."""
    spec = types[document.type.lower()]
    properties = dict(document.body.get("properties", {}))
    if spec.type not in WITHOUT_STATE:
        properties["provisioningState"] = document.hidden.get("state", "Succeeded")
    properties |= spec.view(store, document)
    if spec.type == virtual_network.TYPE:
        children = virtual_network.subnets_of(store, document.id)
        properties["subnets"] = [render(types, store, child) for child in children]
    shown = {key: value for key, value in document.body.items() if key != "properties"}
    if "identity" in shown:
        shown["identity"] = _identity(store, document)
    return {
        "id": document.id,
        "name": document.name,
        "type": spec.type,
        "etag": scale_set.etag_of(document) if spec.type == scale_set_instance.TYPE else f'W/"{document.etag}"',
        **shown,
        "properties": properties,
    }


def _identity(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    identity, shown = document.body["identity"], {}
    if identity["type"] == "SystemAssigned":
        return {**identity, **{name: document.hidden[name] for name in ("principalId", "tenantId")}}
    for key in identity.get("userAssignedIdentities", {}):
        identity_document = store.get(key)
        hidden = identity_document.hidden if identity_document else {}
        shown[key] = {name: hidden[name] for name in ("principalId", "clientId") if name in hidden}
    return {**identity, "userAssignedIdentities": shown}


def instance_view(document: ResourceDocument, machine: MachineState) -> dict[str, Any]:
    """Return a machine's ``instanceView``, with provisioning and power as status codes. The code of a failed
    provisioning ends with the error's code (learn.microsoft.com, "States and billing status of Azure Virtual Machines",
    "Provisioning states")."""
    state, error = str(document.hidden.get("state", "Succeeded")).lower(), document.hidden.get("error", {})
    # A guest whose user data is still being processed, or has failed, is running nevertheless.
    phase = "running" if machine.reported else machine.phase
    power = {
        "running": "running",
        "starting": "starting",
        "stopped": "stopped",
        "failed": "stopped",
        "absent": "deallocated",
    }[phase]
    if phase == "stopped" and document.hidden.get("power") == "deallocated":
        power = "deallocated"
    statuses: list[dict[str, Any]] = [
        {
            "code": f"ProvisioningState/{state}" + (f"/{error['code']}" if state == "failed" and error else ""),
            "level": "Error" if state == "failed" else "Info",
            "displayStatus": f"Provisioning {state}",
            **({"message": error["message"]} if error else {}),
            **({"time": document.hidden["failedAt"]} if "failedAt" in document.hidden else {}),
        },
        {"code": f"PowerState/{power}", "level": "Info", "displayStatus": f"VM {power}"},
    ]
    ready = phase == "running"
    agent = {
        "vmAgentVersion": "lab" if ready else "Unknown",
        "statuses": [
            {
                "code": f"ProvisioningState/{'succeeded' if ready else 'Unavailable'}",
                "level": "Info" if ready else "Warning",
                "displayStatus": "Ready" if ready else "Not Ready",
            }
        ],
    }
    name = document.body["properties"]["osProfile"]["computerName"]
    return {"computerName": name, "osName": "debian", "vmAgent": agent, "statuses": statuses}
