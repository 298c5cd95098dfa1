"""Bodies of a scale set, as the program sends them, and short ways to look at its instances."""

from __future__ import annotations

import base64
from typing import Any

from lab.cloud.azure.quota_and_capacity_errors import set_limit
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, IMAGE, NETWORK, Live

SET = f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/lab-gpu"
SIZE = "Standard_D8s_v5"
ADDRESSES = 17
"""Addresses of an instance: its own, and 16 of its pods."""


def body(
    capacity: int = 2, *, data: bytes = b"#cloud-config\n", image: str = IMAGE, spot: str = "", **changes: Any
) -> dict[str, Any]:
    """Return a set in two zones; ``spot`` is the eviction policy of one on Spot machines."""
    names = ["primary", *(f"pod-{index:02}" for index in range(ADDRESSES - 1))]
    addresses = [
        {"name": name, "properties": {"primary": not index, "subnet": {"id": estate.SUBNET}}}
        for index, name in enumerate(names)
    ]
    interface = {
        "primary": True,
        "enableAcceleratedNetworking": True,
        "enableIPForwarding": False,
        "ipConfigurations": addresses,
        "networkSecurityGroup": {"id": estate.NSG},
    }
    disk = {"createOption": "FromImage", "caching": "ReadOnly", "managedDisk": {"storageAccountType": "Premium_LRS"}}
    profile = {
        "priority": "Spot" if spot else "Regular",
        **({"evictionPolicy": spot, "billingProfile": {"maxPrice": -1}} if spot else {}),
        "osProfile": {
            "computerNamePrefix": "lab-gpu-",
            "adminUsername": "longhaul",
            "customData": base64.b64encode(data).decode(),
            "linuxConfiguration": {"disablePasswordAuthentication": True, "provisionVMAgent": True},
        },
        "storageProfile": {"imageReference": {"id": image}, "osDisk": disk},
        "networkProfile": {"networkInterfaceConfigurations": [{"name": "primary", "properties": interface}]},
        "securityProfile": {"encryptionAtHost": True},
    }
    properties = {
        "orchestrationMode": "Uniform",
        "singlePlacementGroup": False,
        "platformFaultDomainCount": 1,
        "overprovision": False,
        "zoneBalance": False,
        "upgradePolicy": {"mode": "Manual"},
        "virtualMachineProfile": profile,
    }
    whole = {
        **estate.WHERE,
        "sku": {"name": SIZE, "tier": "Standard", "capacity": capacity},
        "zones": ["1", "2"],
        "identity": {"type": "SystemAssigned"},
        "properties": properties,
    }
    return {**whole, **changes}


def build(live: Live, capacity: int = 2, **changes: Any) -> None:
    """Make the network, and a set in it."""
    estate.build(live, with_machine=False)
    live.put(SET, body(capacity, **changes))


def build_large(live: Live) -> None:
    """Make a large network, and in it an empty set whose machines have one address each."""
    estate.build(live, with_machine=False)
    live.make(NETWORK, estate.network("127.8.0.0/14"))
    live.make(f"{NETWORK}/subnets/workers", estate.subnet("127.9.0.0/20"))
    whole = body(0)
    interface = whole["properties"]["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"][0]
    address = {"name": "primary", "properties": {"primary": True, "subnet": {"id": f"{NETWORK}/subnets/workers"}}}
    interface["properties"]["ipConfigurations"] = [address]
    live.put(SET, whole)


def listed(live: Live, what: str = "virtualMachines", **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = live.arm("GET", f"{SET}/{what}", **query).json()["value"]
    return found


def ids(live: Live) -> list[str]:
    return [one["instanceId"] for one in listed(live)]


def latest(live: Live) -> list[bool]:
    return [one["properties"]["latestModelApplied"] for one in listed(live)]


def capacity(live: Live) -> int:
    return int(live.arm("GET", SET).json()["sku"]["capacity"])


def scale(live: Live, count: int) -> dict[str, Any]:
    """Set the capacity as ``az vmss scale`` does, and return the finished operation."""
    response = live.arm("PATCH", SET, {"sku": {"name": SIZE, "tier": "Standard", "capacity": count}})
    assert response.status_code == 200, response.text
    return live.wait(response)


def act(live: Live, action: str, *instances: str) -> dict[str, Any]:
    """Start an action on instances, and return the finished operation."""
    chosen = {"instanceIds": list(instances)} if instances else {}
    response = live.arm("POST", f"{SET}/{action}", chosen, token=live.owner())
    assert response.status_code == 202, response.text
    return live.wait(response)


def protect(live: Live, instance: str, **policy: bool) -> None:
    body = {"properties": {"protectionPolicy": policy}}
    response = live.arm("PUT", f"{SET}/virtualMachines/{instance}", body, token=live.owner())
    assert response.status_code == 200, response.text


def limit(live: Live, count: int | None, error: str = "AllocationFailed") -> None:
    """Press the control switch of what the cloud runs out of; the store belongs to the cloud's thread."""

    async def press() -> None:
        set_limit(live.cloud.store, SIZE, count, code=error)

    live.call(press())
