"""Instance metadata service, ``169.254.169.254``: a machine's own data, and its identities' tokens.

learn.microsoft.com/azure/virtual-machines/instance-metadata-service and
learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token.
"""

from __future__ import annotations

import json
import logging
import time
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from aiohttp import web

from lab.cloud.azure import machine_identities
from lab.cloud.azure.attested import Attester, Facts
from lab.cloud.azure.identity import MANAGED_LIFE_S, TokenEndpoints
from lab.cloud.azure.ids import parse_id
from lab.cloud.azure.scheduled_events import ScheduledEvents
from lab.cloud.azure.schema import scale_set_instance
from lab.cloud.azure.schema.network_interface import network_of
from lab.cloud.azure.world import computers, interface_of
from lab.cloud.store import DocumentStore, ResourceDocument

log = logging.getLogger(__name__)

NOBODY = "0.0.0.0"  # noqa: S104 - nothing is bound to it


class AzureMetadata:
    """Answers machines, which it identifies by their network and address."""

    def __init__(
        self, *, store: DocumentStore, identity: TokenEndpoints, attester: Attester, events: ScheduledEvents
    ) -> None:
        self._store = store
        self._identity = identity
        self._attester = attester
        self._events = events

    async def handle(self, request: web.Request, network: str) -> web.StreamResponse:
        """Answer one machine in the virtual network of id ``network``."""
        response = await self._answer(request, network)
        log.info("metadata: %s asked %s -> %s", request.remote, request.path, response.status)
        return response

    async def _answer(self, request: web.Request, network: str) -> web.Response:
        if request.headers.get("Metadata", "").lower() != "true":
            return _error(400, "invalid_request", "Required metadata header not specified")
        if "X-Forwarded-For" in request.headers:
            return _error(400, "invalid_request", "X-Forwarded-For header is not allowed")
        if not request.query.get("api-version"):
            return _error(400, "invalid_request", "Required query variable 'api-version' is missing")
        machine = self._machine(request.remote or "", network)
        if machine is None:
            return _error(404, "not_found", f"No machine of the lab has the address {request.remote} in {network}")
        path = request.path.rstrip("/").lower()
        if path == "/metadata/scheduledevents" and request.method in ("GET", "POST"):
            return await self._scheduled(request, machine)
        if request.method != "GET":
            return _error(405, "method_not_allowed", f"{request.method} is not allowed")
        if path == "/metadata/identity/oauth2/token":
            return self._token(request, machine)
        if path == "/metadata/attested/document":
            return self._attested(request, machine)
        if path == "/metadata/instance" or path.startswith("/metadata/instance/"):
            return _part(self._instance(machine), path.removeprefix("/metadata/instance"), request.query.get("format"))
        return _error(404, "not_found", f"The lab's metadata service does not have {request.path}")

    def _machine(self, address: str, network: str) -> ResourceDocument | None:
        for machine in computers(self._store):
            interface = interface_of(self._store, machine)
            if interface is None:
                continue
            configuration = interface[1]
            here = network_of(configuration["subnet"]["id"]).lower() == network.lower()
            if here and IPv4Address(configuration["privateIPAddress"]) == IPv4Address(address or NOBODY):
                return machine
        return None

    def _token(self, request: web.Request, machine: ResourceDocument) -> web.Response:
        resource = request.query.get("resource")
        if not resource:
            return _error(400, "invalid_request", "Required query variable 'resource' is missing")
        try:
            identity = machine_identities.chosen(self._store, machine, request.query)
        except machine_identities.NoIdentityError as problem:
            return _error(400, "invalid_request", str(problem))
        token = self._identity.token(
            object_id=identity.object_id,
            app_id=identity.client_id,
            audience=resource,
            life_s=MANAGED_LIFE_S,
            resource_id=identity.resource_id,
        )
        now = int(time.time())
        return web.json_response(
            {
                "access_token": token,
                "client_id": identity.client_id,
                "expires_in": str(MANAGED_LIFE_S),
                "expires_on": str(now + MANAGED_LIFE_S),
                "ext_expires_in": str(MANAGED_LIFE_S),
                "not_before": str(now),
                "resource": resource,
                "token_type": "Bearer",
            }
        )

    def _attested(self, request: web.Request, machine: ResourceDocument) -> web.Response:
        facts = Facts(
            vm_id=machine.hidden["vmId"],
            subscription=parse_id(machine.id).subscription,
            size=machine.body["properties"]["hardwareProfile"]["vmSize"],
        )
        try:
            return web.json_response(self._attester.document(facts, nonce=request.query.get("nonce")))
        except ValueError as problem:
            return _error(400, "invalid_request", str(problem))

    async def _scheduled(self, request: web.Request, machine: ResourceDocument) -> web.Response:
        try:
            document = await self._events.document(machine, request.query["api-version"])
            if request.method == "GET":
                return web.json_response(document)
            self._events.approve(machine, json.loads(await request.text()))
            return web.Response()
        except ValueError as problem:
            return _error(400, "invalid_request", str(problem))

    def _instance(self, machine: ResourceDocument) -> dict[str, Any]:
        properties = machine.body["properties"]
        interface = interface_of(self._store, machine)
        configuration = interface[1] if interface else {}
        configurations = interface[0].body["properties"]["ipConfigurations"] if interface else []
        subnet = self._store.get(configuration.get("subnet", {}).get("id", ""))
        prefix = IPv4Network(subnet.body["properties"]["addressPrefix"]) if subnet else IPv4Network("0.0.0.0/32")
        parsed = parse_id(machine.id)
        tags = machine.body.get("tags", {})
        image = properties["storageProfile"]["imageReference"]["id"]
        addresses = [
            {"privateIpAddress": ip_configuration["properties"]["privateIPAddress"], "publicIpAddress": ""}
            for ip_configuration in configurations
        ]
        group = parsed.names[0] if machine.type == scale_set_instance.INSTANCE else ""
        profile = self._profile(machine)
        return {
            "compute": {
                "azEnvironment": "AzurePublicCloud",
                "evictionPolicy": profile.get("evictionPolicy", ""),
                "location": machine.body["location"],
                "name": machine.body.get("name", machine.name),
                "osProfile": {
                    "adminUsername": properties["osProfile"]["adminUsername"],
                    "computerName": properties["osProfile"]["computerName"],
                    "disablePasswordAuthentication": "true",
                },
                "osType": "Linux",
                "priority": profile.get("priority", "Regular"),
                "resourceGroupName": parsed.group,
                "resourceId": machine.id,
                "storageProfile": {
                    "imageReference": {"id": image, "offer": "", "publisher": "", "sku": "", "version": ""}
                },
                "subscriptionId": parsed.subscription,
                "tags": ";".join(f"{key}:{value}" for key, value in tags.items()),
                "tagsList": [{"name": key, "value": value} for key, value in tags.items()],
                "userData": "",
                "vmId": machine.hidden["vmId"],
                "vmScaleSetName": group,
                "vmSize": properties["hardwareProfile"]["vmSize"],
                "zone": (machine.body.get("zones") or [""])[0],
            },
            "network": {
                "interface": [
                    {
                        "ipv4": {
                            "ipAddress": addresses,
                            "subnet": [{"address": str(prefix.network_address), "prefix": str(prefix.prefixlen)}],
                        },
                        "ipv6": {"ipAddress": []},
                        "macAddress": "",
                    }
                ]
            },
        }

    def _profile(self, machine: ResourceDocument) -> dict[str, Any]:
        """Return the model of a machine of a scale set; nothing for others."""
        if machine.type != scale_set_instance.INSTANCE:
            return {}
        group = self._store.get(scale_set_instance.group_of(machine))
        return dict(group.body["properties"]["virtualMachineProfile"]) if group else {}


def _part(document: Any, path: str, format: str | None) -> web.Response:
    """Return a part of the instance document. Leaves are text, as the real service gives with ``format=text``."""
    value = document
    for key in [part for part in path.split("/") if part]:
        if isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        elif isinstance(value, dict):
            value = next((inner for name, inner in value.items() if name.lower() == key), None)
        else:
            value = None
    if value is None:
        return _error(404, "not_found", f"/metadata/instance{path} was not found")
    if isinstance(value, str):
        return web.Response(text=value)
    if format == "text":
        keys = list(value) if isinstance(value, dict) else [str(index) for index in range(len(value))]
        return web.Response(text="\n".join(keys))
    return web.json_response(value)


def _error(status: int, code: str, text: str) -> web.Response:
    return web.json_response({"error": code, "error_description": text}, status=status)
