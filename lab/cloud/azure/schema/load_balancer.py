"""Microsoft.Network/loadBalancers: internal load balancers of the SKU Standard."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.errors import ArmError, invalid_reference
from lab.cloud.azure.schema.base import BodyPart, Located, Put, Ref, TypeSpec
from lab.cloud.azure.schema.subnet import SubnetRef, check_address
from lab.cloud.azure.schema.zones import one_or_all, zones_refused
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Network/loadBalancers"


class LoadBalancerSku(BodyPart):
    """SKU of a load balancer; Azure has retired Basic."""

    name: Literal["Standard"]
    tier: Literal["Regional"] = "Regional"


class Named(BodyPart):
    """A named part of a load balancer."""

    name: str
    id: str | None = None
    type: str | None = None


class FrontendProperties(BodyPart):
    """Private, static address of a frontend."""

    private_ip_address: IPv4Address = Field(alias="privateIPAddress")
    private_ip_allocation_method: Literal["Static"] = Field(alias="privateIPAllocationMethod")
    private_ip_address_version: Literal["IPv4"] = Field(default="IPv4", alias="privateIPAddressVersion")
    subnet: SubnetRef


class Frontend(Named):
    """Frontend, to which clients connect."""

    zones: list[str] | None = None
    properties: FrontendProperties


class PoolProperties(BodyPart):
    """Properties of a pool: none, because members join from their interfaces."""


class BackendPool(Named):
    """A backend pool."""

    properties: PoolProperties = Field(default_factory=PoolProperties)


class ProbeProperties(BodyPart):
    """Settings of a health probe."""

    protocol: Literal["Tcp", "Http", "Https"]
    port: int = Field(ge=1, le=65535)
    request_path: str | None = None
    interval_in_seconds: int = Field(default=15, ge=5)
    number_of_probes: int = Field(default=1, ge=1)
    """In Azure ``probeThreshold`` supersedes this property; the lab uses the larger of the two."""
    probe_threshold: int = Field(default=1, ge=1, le=100)
    no_healthy_backends_behavior: Literal["AllProbedDown"] = "AllProbedDown"


class HealthProbe(Named):
    """A health probe."""

    properties: ProbeProperties


class LoadBalancingRuleProperties(BodyPart):
    """Maps one frontend port to one backend port."""

    frontend_ip_configuration: Ref = Field(alias="frontendIPConfiguration")
    backend_address_pool: Ref | None = None
    backend_address_pools: list[Ref] = Field(default_factory=list, max_length=1)
    probe: Ref
    protocol: Literal["Tcp"]
    frontend_port: int = Field(ge=1, le=65534)
    backend_port: int | None = Field(default=None, ge=1, le=65535)
    load_distribution: Literal["Default"] = "Default"
    idle_timeout_in_minutes: int = Field(default=4, ge=4, le=100)
    enable_tcp_reset: bool = False
    enable_floating_ip: Literal[False] = Field(default=False, alias="enableFloatingIP")
    disable_outbound_snat: bool = False


class LoadBalancingRule(Named):
    """A load-balancing rule."""

    properties: LoadBalancingRuleProperties


class LoadBalancerProperties(BodyPart):
    """Properties of a load balancer."""

    frontend_ip_configurations: list[Frontend] = Field(alias="frontendIPConfigurations", min_length=1)
    backend_address_pools: list[BackendPool] = Field(default_factory=list)
    probes: list[HealthProbe] = Field(default_factory=list)
    load_balancing_rules: list[LoadBalancingRule] = Field(default_factory=list)
    inbound_nat_rules: list[dict[str, Any]] = Field(default_factory=list, max_length=0)
    outbound_rules: list[dict[str, Any]] = Field(default_factory=list, max_length=0)


class LoadBalancer(Located):
    """An internal load balancer."""

    sku: LoadBalancerSku
    properties: LoadBalancerProperties


PARTS = ("frontendIPConfigurations", "backendAddressPools", "probes", "loadBalancingRules")


def check(put: Put) -> None:
    """Refuse addresses in use, zones that do not fit, rules that refer to parts elsewhere, and the removal of a pool
    with members."""
    properties = put.body["properties"]
    for part in PARTS:
        names = [item["name"].lower() for item in properties[part]]
        if len(set(names)) != len(names):
            raise ArmError(400, "DuplicateResourceName", f"{put.id.name} has two {part} of the same name.")
    for frontend in properties["frontendIPConfigurations"]:
        check_address(
            put,
            subnet_id=frontend["properties"]["subnet"]["id"],
            address=IPv4Address(frontend["properties"]["privateIPAddress"]),
            configuration=f"{put.id.text}/frontendIPConfigurations/{frontend['name']}",
        )
        _check_zones(put, frontend)
    taken: set[tuple[str, int]] = set()
    for rule in properties["loadBalancingRules"]:
        _check_rule(put, rule)
        key = (rule["properties"]["frontendIPConfiguration"]["id"].lower(), rule["properties"]["frontendPort"])
        if key in taken:
            raise ArmError(
                400,
                "RulesUseSameFrontendPortProtocolAndVip",
                f"Rule {rule['name']} uses a frontend port of another rule.",
            )
        taken.add(key)
    for probe in properties["probes"]:
        if (probe["properties"]["protocol"] == "Tcp") == bool(probe["properties"].get("requestPath")):
            raise ArmError(
                400,
                "InvalidProbe",
                f"Probe {probe['name']}: requestPath is required for Http and Https, not allowed for Tcp.",
            )
    _pools_stay(put)


def _check_zones(put: Put, frontend: dict[str, Any]) -> None:
    """Refuse zones that are neither a single zone nor all zones, and a change of the zones (the comment on
    ``withAvailabilityZone`` in Azure's SDK for Java, ``LoadBalancerFrontendImpl``)."""
    of, zones = f"{put.id.text}/frontendIPConfigurations/{frontend['name']}", frontend.get("zones")
    one_or_all(zones or (), of=of)
    before = put.old.body["properties"]["frontendIPConfigurations"] if put.old else []
    for old in before:
        if old["name"].lower() == frontend["name"].lower() and set(old.get("zones") or ()) != set(zones or ()):
            raise zones_refused(of, old.get("zones"), zones)


def _check_rule(put: Put, rule: dict[str, Any]) -> None:
    properties = rule["properties"]
    pools = [*properties["backendAddressPools"]]
    pools += [properties["backendAddressPool"]] if "backendAddressPool" in properties else []
    references = [
        ("frontendIPConfigurations", properties["frontendIPConfiguration"]),
        ("probes", properties["probe"]),
        *(("backendAddressPools", pool) for pool in pools),
    ]
    for part, ref in references:
        names = {item["name"].lower() for item in put.body["properties"][part]}
        wanted = f"{put.id.text}/{part}/".lower()
        if not (ref["id"].lower().startswith(wanted) and ref["id"].lower()[len(wanted) :] in names):
            raise invalid_reference(ref["id"], by=f"{put.id.text}/loadBalancingRules/{rule['name']}")
    if not pools:
        raise ArmError(
            400, "LoadBalancingRuleMustHaveBackendPool", f"Rule {rule['name']} of {put.id.name} has no backend pool."
        )


def members(store: DocumentStore, pool_id: str) -> list[tuple[ResourceDocument, dict[str, Any]]]:
    """Return the interfaces that joined a backend pool, each with its IP configuration."""
    addresses = []
    for interface in store.of_type("Microsoft.Network/networkInterfaces"):
        for configuration in interface.body["properties"]["ipConfigurations"]:
            pools = configuration["properties"].get("loadBalancerBackendAddressPools", ())
            if any(pool["id"].lower() == pool_id.lower() for pool in pools):
                addresses.append((interface, configuration))
    return addresses


def _pools_stay(put: Put) -> None:
    if put.old is None:
        return
    kept = {pool["name"].lower() for pool in put.body["properties"]["backendAddressPools"]}
    for pool in put.old.body["properties"]["backendAddressPools"]:
        if pool["name"].lower() not in kept:
            _free(put.store, put.id.text, pool["name"])


def _free(store: DocumentStore, balancer_id: str, pool: str) -> None:
    joined = members(store, f"{balancer_id}/backendAddressPools/{pool}")
    if joined:
        raise ArmError(
            400,
            "InUseBackendAddressPoolCannotBeDeleted",
            f"Backend address pool {balancer_id}/backendAddressPools/{pool} is in use by {joined[0][0].id} and "
            "cannot be deleted.",
        )


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the ids of the parts, and the members of the pools."""
    shown: dict[str, Any] = {}
    for part in PARTS:
        items = []
        for item in document.body["properties"][part]:
            part_id = f"{document.id}/{part}/{item['name']}"
            properties = {**item["properties"], "provisioningState": "Succeeded"}
            if part == "backendAddressPools":
                joined = [f"{i.id}/ipConfigurations/{c['name']}" for i, c in members(store, part_id)]
                properties |= (
                    {"backendIPConfigurations": [{"id": configuration_id} for configuration_id in joined]}
                    if joined
                    else {}
                )
            items.append(
                {**item, "id": part_id, "type": f"{TYPE}/{part}", "etag": document.etag, "properties": properties}
            )
        shown[part] = items
    return shown


def in_use(store: DocumentStore, document: ResourceDocument) -> None:
    """Refuse to delete a load balancer while a pool has members."""
    for pool in document.body["properties"]["backendAddressPools"]:
        _free(store, document.id, pool["name"])


SPEC = TypeSpec(
    type=TYPE,
    model=LoadBalancer,
    check=check,
    view=view,
    in_use=in_use,
    read_only=frozenset({"backendIPConfigurations"}),
)
