"""Microsoft.Compute/virtualMachineScaleSets in uniform orchestration: the model from which a set makes its instances.

The body is in ``scale_set_body.py``, instances are in ``scale_set_instance.py``, and what happens to them is in
``lab/cloud/azure/scale_sets.py``.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

from lab.cloud.azure import quota_and_capacity_errors
from lab.cloud.azure.errors import ArmError, invalid
from lab.cloud.azure.schema import virtual_machine
from lab.cloud.azure.schema.base import Put, TypeSpec
from lab.cloud.azure.schema.occupancy import MOST_ADDRESSES, configurations, free
from lab.cloud.azure.schema.scale_set_body import LARGEST_PLACEMENT_GROUP, ScaleSet
from lab.cloud.azure.schema.scale_set_instance import TYPE, may_leave, present
from lab.cloud.azure.schema.subnet import TYPE as SUBNET_TYPE
from lab.cloud.store import DocumentStore, ResourceDocument


def completed(old: ResourceDocument | None, body: Any) -> Any:
    """Return the body of a PUT, completed with the parts that it leaves out: an existing set keeps its model when the
    body has no ``properties``, as the cluster autoscaler sends it (kubernetes/autoscaler, azure_scale_set.go)."""
    if old is None or not isinstance(body, dict) or body.get("properties") is not None:
        return body
    return {**old.body, **body, "properties": old.body["properties"]}


def patched(old: ResourceDocument, body: Any) -> dict[str, Any]:
    """Return the whole body of a set after a PATCH of its SKU or tags; the lab patches nothing else.

    Raises:
        ArmError: 400 for other keys.
    """
    if not isinstance(body, dict) or not set(body) <= {"sku", "tags"} or not isinstance(body.get("sku", {}), dict):
        raise invalid(f"{TYPE} '{old.name}': the lab patches sku and tags; use PUT for the rest.")
    return {**old.body, **body, "sku": {**old.body["sku"], **body.get("sku", {})}}


def etag_of(document: ResourceDocument) -> str:
    """Return a set's ETag: the number of its writes. It stays while instances come and go (Azure/azure-cli,
    test_create_flexible_vmss_with_priority_mix_policy.yaml)."""
    return f'"{document.hidden["writes"]}"'


def refuse_other_etag(document: ResourceDocument, if_match: str | None) -> None:
    """Refuse a change of a set that names an outdated ETag (REST reference, "Virtual Machine Scale Sets - Update",
    ``If-Match``; kubernetes-sigs/cloud-provider-azure issue 9728 shows the answer)."""
    if document.type != TYPE:
        return
    etag = etag_of(document)
    if if_match not in (None, "*", etag):
        message = f"Etag provided in if-match header {if_match} does not match etag {etag} of resource."
        raise ArmError(412, "PreconditionFailed", message)


def check(put: Put) -> None:
    """Refuse sizes, images, networks and quotas that Azure refuses before any change, and a lower capacity when too few
    instances may be removed. Count the writes, and the versions of the model, which ``latestModelApplied`` compares."""
    properties = put.body["properties"]
    profile = properties["virtualMachineProfile"]
    old = put.old.body["properties"]["virtualMachineProfile"] if put.old else None
    virtual_machine.complete_security(profile, old)
    virtual_machine.check_size(put.body["sku"]["name"], profile["storageProfile"]["osDisk"])
    virtual_machine.check_image(put.settings, profile["storageProfile"]["imageReference"]["id"])
    put.hidden = dict(put.old.hidden) if put.old else _new()
    custom_data = profile["osProfile"].pop("customData", None)
    if custom_data is not None:
        put.hidden["customData"] = virtual_machine.decodable(custom_data)
    put.hidden["writes"] += 1
    if "identity" in put.body and "principalId" not in put.hidden:
        ids = {"principalId": str(uuid.uuid4()), "clientId": str(uuid.uuid4()), "tenantId": put.settings.tenant}
        put.hidden.update(ids)
    _check_spot(profile)
    _check_placement(put, properties)
    subnet = _check_network(put, profile["networkProfile"]["networkInterfaceConfigurations"][0]["properties"])
    if put.old and _model(put.old.body, put.old.hidden) != _model(put.body, put.hidden):
        put.hidden["model"] += 1
    _check_change(put, subnet)


def _new() -> dict[str, Any]:
    made = datetime.now(UTC).isoformat()
    return {"model": 1, "next": 0, "writes": 0, "uniqueId": str(uuid.uuid4()), "timeCreated": made}


def _model(body: dict[str, Any], hidden: dict[str, Any]) -> tuple[Any, ...]:
    return body["sku"]["name"], body["properties"]["virtualMachineProfile"], hidden.get("customData")


def _check_spot(profile: dict[str, Any]) -> None:
    if profile["priority"] != "Spot" and ("evictionPolicy" in profile or "billingProfile" in profile):
        raise invalid("Eviction policy and billing profile can be set only on Azure Spot machines.", target="priority")
    notice = profile.get("scheduledEventsProfile", {}).get("terminateNotificationProfile", {})
    if profile["priority"] == "Spot" and notice.get("enable"):
        raise invalid("Terminate notifications cannot be enabled on Spot instances.", target="scheduledEventsProfile")


def _check_placement(put: Put, properties: dict[str, Any]) -> None:
    capacity, single = put.body["sku"]["capacity"], properties["singlePlacementGroup"]
    if single and capacity > LARGEST_PLACEMENT_GROUP:
        raise invalid(
            f"The specified capacity {capacity} exceeds {LARGEST_PLACEMENT_GROUP}, the most of a single placement "
            "group.",
            target="sku.capacity",
        )
    if single and put.old and not put.old.body["properties"]["singlePlacementGroup"]:
        raise ArmError(
            409,
            "PropertyChangeNotAllowed",
            "Changing property 'singlePlacementGroup' is not allowed: it cannot become true.",
            target="singlePlacementGroup",
        )
    zones = put.body.get("zones", [])
    if len(set(zones)) != len(zones):
        raise invalid(f"{put.id.name}: a zone is named twice.", target="zones")


def _check_network(put: Put, interface: dict[str, Any]) -> ResourceDocument:
    """Return the subnet of an interface; all its addresses must be in that subnet."""
    configurations = interface["ipConfigurations"]
    if sum(configuration["properties"]["primary"] for configuration in configurations) != 1 and len(configurations) > 1:
        raise ArmError(
            400,
            "MoreThanOneIpConfigurationShouldHaveOnePrimary",
            f"{put.id.name}: exactly one IP configuration of an interface must be primary.",
        )
    if len({configuration["name"].lower() for configuration in configurations}) != len(configurations):
        raise ArmError(400, "DuplicateResourceName", f"{put.id.name} has two IP configurations of the same name.")
    ids = {
        configuration["properties"]["subnet"]["id"].lower(): configuration["properties"]["subnet"]["id"]
        for configuration in configurations
    }
    if len(ids) != 1:
        raise ArmError(
            400,
            "IpConfigurationsOnSameNicCannotUseDifferentSubnets",
            f"{put.id.name}: all IP configurations of an interface must be in one subnet.",
        )
    subnet = put.find(next(iter(ids.values())), type=SUBNET_TYPE)
    network = put.store.get(subnet.id.rsplit("/", 2)[0])
    if network:
        put.same_region(network)
    if "networkSecurityGroup" in interface:
        group = put.find(interface["networkSecurityGroup"]["id"], type="Microsoft.Network/networkSecurityGroups")
        put.same_region(group)
    return subnet


def _check_change(put: Put, subnet: ResourceDocument) -> None:
    """Refuse a new capacity for which there is no room, or that would end protected instances."""
    instances = present(put.store, put.id.text)
    missing = put.body["sku"]["capacity"] - len(instances)
    profile = put.body["properties"]["virtualMachineProfile"]["networkProfile"]
    each = len(profile["networkInterfaceConfigurations"][0]["properties"]["ipConfigurations"])
    if missing > 0:
        quota_and_capacity_errors.check_quota(put, missing)
        if len(free(put.store, subnet, missing * each)) < missing * each:
            raise ArmError(
                400,
                "SubnetIsFull",
                f"Subnet {subnet.name} with address prefix {subnet.body['properties']['addressPrefix']} does not have "
                f"enough capacity for {missing * each} IP addresses.",
            )
        _check_addresses(put, subnet, missing * each)
    elif -missing > len(may_leave(instances)):
        raise ArmError(
            409,
            "OperationNotAllowed",
            f"{put.id.name} cannot be reduced to {put.body['sku']['capacity']}: {len(instances)} instances exist, and "
            f"only {len(may_leave(instances))} of them are not protected from scale-in.",
        )


def _check_addresses(put: Put, subnet: ResourceDocument, more: int) -> None:
    """Refuse more private addresses than a virtual network may have."""
    network = subnet.id.rsplit("/", 2)[0]
    subnets = [document for document in put.store.below(network) if document.type == SUBNET_TYPE]
    used = sum(len(configurations(put.store, used_subnet.id)) for used_subnet in subnets)
    if used + more > MOST_ADDRESSES:
        raise ArmError(
            400,
            "PrivateIPAddressLimitReached",
            f"Virtual network {network} may have {MOST_ADDRESSES} private IP addresses: {used} are in use, and {more} "
            "more were asked for.",
        )


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the set's read-only properties."""
    return {"uniqueId": document.hidden["uniqueId"], "timeCreated": document.hidden["timeCreated"]}


SPEC = TypeSpec(
    type=TYPE,
    model=ScaleSet,
    check=check,
    view=view,
    read_only=frozenset(
        {"uniqueId", "timeCreated", "principalId", "tenantId", "clientId", "requireGuestProvisionSignal"}
    ),
)
