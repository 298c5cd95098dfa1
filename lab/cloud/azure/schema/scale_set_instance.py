"""Instances of scale sets, and their interfaces.

learn.microsoft.com/rest/api/compute/virtual-machine-scale-set-vms. An instance's document has the form of a virtual
machine's, so that the world and the metadata service treat both alike.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from lab.cloud.azure.errors import invalid, not_found, unsupported
from lab.cloud.azure.schema.base import Body, BodyPart, Put, TypeSpec
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = "Microsoft.Compute/virtualMachineScaleSets"
INSTANCE = f"{TYPE}/virtualMachines"
INTERFACE = f"{INSTANCE}/networkInterfaces"
TYPES = (TYPE, INSTANCE)
LISTED = {f"{TYPE}/networkInterfaces": INTERFACE}
"""Types that exist only as a list, and the type of their items."""
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""An instance's number in its computer name is six digits to the base 36:
learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-instance-ids."""


class Protection(BodyPart):
    """Protection of an instance: learn.microsoft.com/azure/virtual-machine-scale-sets/
    virtual-machine-scale-sets-instance-protection."""

    protect_from_scale_in: bool | None = None
    protect_from_scale_set_actions: bool = False


class InstanceProperties(BodyPart):
    """Properties of an instance that can be changed."""

    protection_policy: Protection = Field(default_factory=Protection)


class Instance(Body):
    """The body of a PUT of an instance; the lab supports only its protection."""

    location: str | None = None
    tags: None = None
    properties: InstanceProperties


class Nothing(Body):
    """Body of a resource that cannot be put."""


def check(put: Put) -> None:
    """Set the protection of an instance that exists."""
    if put.old is None:
        raise not_found(put.id.text)
    policy = put.body["properties"]["protectionPolicy"]
    if policy["protectFromScaleSetActions"] and policy.get("protectFromScaleIn") is False:
        raise invalid("protectFromScaleIn cannot be false when protectFromScaleSetActions is true.")
    policy["protectFromScaleIn"] = policy["protectFromScaleSetActions"] or policy.get("protectFromScaleIn", False)
    put.hidden = put.old.hidden
    put.body = {**put.old.body, "properties": {**put.old.body["properties"], "protectionPolicy": policy}}


def _read_only(put: Put) -> None:
    raise unsupported(f"{put.id.text}: interfaces of scale sets can only be read; change the set.")


def view(store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the ids of the instance and its system disk, and whether it has its set's newest model."""
    group = store.get(group_of(document))
    latest = group is not None and group.hidden["model"] == document.hidden["model"]
    storage = document.body["properties"]["storageProfile"]
    disk = {**storage["osDisk"], "name": _disk_name(document)}
    disk["managedDisk"] = {**disk.get("managedDisk", {}), "id": disk_of(document)}
    return {
        "storageProfile": {**storage, "osDisk": disk},
        "vmId": document.hidden["vmId"],
        "timeCreated": document.hidden.get("timeCreated", ""),
        "latestModelApplied": latest,
        "modelDefinitionApplied": "VirtualMachineScaleSet",
    }


def disk_of(document: ResourceDocument) -> str:
    """Return the id of an instance's system disk, which lies beside its set."""
    beside = group_of(document).rpartition("/virtualMachineScaleSets/")[0]
    return f"{beside}/disks/{_disk_name(document)}"


def _disk_name(document: ResourceDocument) -> str:
    """Return the name of an instance's system disk; it ends in 32 hexadecimal digits, whatever name was requested."""
    return f"{document.body['name']}_OsDisk_1_{document.hidden['vmId'].replace('-', '')}"


def group_of(document: ResourceDocument) -> str:
    """Return the id of the set that an instance is in."""
    return document.id.rsplit("/", 2)[0]


def interface_id(instance: str) -> str:
    """Return the id of an instance's interface."""
    return f"{instance}/networkInterfaces/primary"


def instances(store: DocumentStore, group: str) -> list[ResourceDocument]:
    """Return all instances of a set in the order of their numbers, including those being deleted."""
    documents = [document for document in store.below(f"{group}/virtualMachines") if document.type == INSTANCE]
    return sorted(documents, key=number)


def present(store: DocumentStore, group: str) -> list[ResourceDocument]:
    """Return the instances that count towards the set's capacity: all instances that are not being deleted."""
    return [instance for instance in instances(store, group) if not instance.hidden.get("deleting")]


def number(instance: ResourceDocument) -> int:
    """Return the number of an instance in its set; a set never reuses a number."""
    return int(instance.body["instanceId"])


def zone_of(instance: ResourceDocument) -> str:
    """Return the zone of an instance; empty when its set has none."""
    return str((instance.body.get("zones") or [""])[0])


def is_protected(instance: ResourceDocument, policy: str) -> bool:
    """Return whether an instance has a protection."""
    return bool(instance.body["properties"].get("protectionPolicy", {}).get(policy))


def may_leave(members: Sequence[ResourceDocument]) -> list[ResourceDocument]:
    """Return the instances that a lower capacity may remove: those without protection from scale-in."""
    return [instance for instance in members if not is_protected(instance, "protectFromScaleIn")]


def leaving(members: Sequence[ResourceDocument], count: int) -> list[ResourceDocument]:
    """Choose the instances that a lower capacity removes: zones stay balanced, within a zone the highest numbers go
    first, and protected instances stay
    (learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-scale-in-policy, "Default")."""
    by_zone, left = Counter(map(zone_of, members)), may_leave(members)
    chosen: list[ResourceDocument] = []
    while left and len(chosen) < count:
        fullest = max(by_zone[zone_of(instance)] for instance in left)
        last = max((instance for instance in left if by_zone[zone_of(instance)] == fullest), key=number)
        chosen.append(last)
        left.remove(last)
        by_zone[zone_of(last)] -= 1
    return chosen


def next_zone(group: ResourceDocument, members: Sequence[ResourceDocument]) -> str:
    """Return the zone for the next instance: the zone with the fewest instances; empty when the set has no zones."""
    by_zone = Counter(map(zone_of, members))
    zones: list[str] = group.body.get("zones", [""])
    return min(zones, key=lambda zone: by_zone[zone])


def new(
    group: ResourceDocument, zone: str, addresses: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return the body and the hidden part of a set's next instance, and the body of its interface."""
    index = group.hidden["next"]
    instance = f"{group.id}/virtualMachines/{index}"
    name = f"{group.body['properties']['virtualMachineProfile']['osProfile']['computerNamePrefix']}{_digits(index)}"
    body = {
        "name": f"{group.name}_{index}",
        "instanceId": str(index),
        "location": group.body["location"],
        **({"zones": [zone]} if zone else {}),
        **model(group, instance=instance, computer_name=name),
    }
    made = datetime.now(UTC).isoformat()
    hidden = {"vmId": str(uuid.uuid4()), "timeCreated": made, "power": "running", "state": "Creating", **disk(group)}
    return body, {**hidden, **applied(group)}, _interface(group, instance, addresses)


def model(group: ResourceDocument, *, instance: str, computer_name: str) -> dict[str, Any]:
    """Return the part of an instance that comes from its set's model."""
    profile = group.body["properties"]["virtualMachineProfile"]
    login = {key: value for key, value in profile["osProfile"].items() if key != "computerNamePrefix"}
    kept = ("storageProfile", "securityProfile", "diagnosticsProfile")
    return {
        "sku": {key: group.body["sku"][key] for key in ("name", "tier")},
        "tags": group.body.get("tags", {}),
        "properties": {
            **{key: profile[key] for key in kept if key in profile},
            "hardwareProfile": {"vmSize": group.body["sku"]["name"]},
            "osProfile": {"computerName": computer_name, **login},
            "networkProfile": {"networkInterfaces": [{"id": interface_id(instance), "properties": {"primary": True}}]},
        },
    }


def applied(group: ResourceDocument) -> dict[str, Any]:
    """Return the parts of a set's newest model that an instance remembers: the version, the content of a fresh disk,
    and the notice before its deletion in seconds, 0 for none."""
    return {"model": group.hidden["model"], "fresh": disk(group), "terminateNoticeS": terminate_notice_s(group)}


def terminate_notice_s(group: ResourceDocument) -> int:
    """Return the notice that a set's machines get before they are deleted, in seconds; 0 when there is none."""
    events = group.body["properties"]["virtualMachineProfile"].get("scheduledEventsProfile", {})
    notice = events.get("terminateNotificationProfile", {})
    return int(notice["notBeforeTimeout"].removeprefix("PT").removesuffix("M")) * 60 if notice.get("enable") else 0


def disk(group: ResourceDocument) -> dict[str, str]:
    """Return the content of the system disk of a set's new machine: image and custom data."""
    storage = group.body["properties"]["virtualMachineProfile"]["storageProfile"]
    return {"image": storage["imageReference"]["id"], "customData": group.hidden.get("customData", "")}


def _interface(group: ResourceDocument, instance: str, addresses: Sequence[str]) -> dict[str, Any]:
    (wanted,) = group.body["properties"]["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"]
    settings = wanted["properties"]
    # The machine's own address first, as everywhere in the lab.
    ordered = sorted(
        settings["ipConfigurations"], key=lambda ip_configuration: not ip_configuration["properties"]["primary"]
    )
    configurations = [
        {
            "name": configuration["name"],
            "id": f"{interface_id(instance)}/ipConfigurations/{configuration['name']}",
            "properties": {
                "privateIPAddress": address,
                "privateIPAllocationMethod": "Dynamic",
                "privateIPAddressVersion": "IPv4",
                "primary": index == 0,
                "subnet": {"id": configuration["properties"]["subnet"]["id"]},
                "provisioningState": "Succeeded",
            },
        }
        for index, (configuration, address) in enumerate(zip(ordered, addresses, strict=True))
    ]
    rules = settings.get("networkSecurityGroup")
    return {
        "properties": {
            "primary": True,
            "ipConfigurations": configurations,
            "virtualMachine": {"id": instance},
            "enableAcceleratedNetworking": settings["enableAcceleratedNetworking"],
            "enableIPForwarding": False,
            **({"networkSecurityGroup": rules} if rules else {}),
        }
    }


def _digits(index: int) -> str:
    text = ""
    for _ in range(6):
        index, rest = divmod(index, len(DIGITS))
        text = DIGITS[rest] + text
    return text


SPECS = (
    TypeSpec(type=INSTANCE, model=Instance, check=check, view=view, parent=TYPE),
    TypeSpec(type=INTERFACE, model=Nothing, check=_read_only, parent=INSTANCE),
    TypeSpec(type=next(iter(LISTED)), model=Nothing, check=_read_only, parent=TYPE),
)
