"""Documents of scale sets and of their machines, as the resource manager sends them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from clouds.azure.refusals import refusal_cause
from clouds.base.live_groups import Life, LiveMachine
from clouds.base.refusals import Refusal

LIVES = {"deleting": Life.LEAVING, "creating": Life.CHANGING, "updating": Life.CHANGING, "migrating": Life.CHANGING}

FAILED = "ProvisioningState/failed"
POWER, UNMADE = "PowerState/", ("PowerState/deallocated", "PowerState/deallocating")


def target(document: Mapping[str, Any]) -> str:
    """Return the image's version and a digest of the model, because Azure does not number models."""
    profile = document["properties"].get("virtualMachineProfile") or {}
    image = str(profile.get("storageProfile", {}).get("imageReference", {}).get("id") or "")
    model = json.dumps([document["sku"].get("name"), profile], sort_keys=True)
    return f"{image.rpartition('/')[2] or 'image'}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def machine_of(item: Mapping[str, Any]) -> LiveMachine | None:
    """Return one machine; None while it has no name yet. A scale set's machine is named by its computer name."""
    properties = item.get("properties") or {}
    name = str((properties.get("osProfile") or {}).get("computerName") or "").lower()
    if not name:
        return None
    protection = properties.get("protectionPolicy") or {}
    return LiveMachine(
        id=str(item["instanceId"]),
        node=name,
        current=bool(properties.get("latestModelApplied")),
        life=LIVES.get(str(properties.get("provisioningState", "")).lower(), Life.PRESENT),
        keep_reason="it is protected from the scale set's actions"
        if protection.get("protectFromScaleSetActions")
        else "",
    )


def creation_times(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the creation times of machines by their ids. Machines of which Azure reports no time are left out."""
    times = {str(item["instanceId"]): str((item.get("properties") or {}).get("timeCreated") or "") for item in items}
    return {id_: time for id_, time in times.items() if time}


def is_spot(scale_set: Mapping[str, Any]) -> bool:
    """Return whether a scale set's machines are spot machines."""
    return bool(scale_set["properties"].get("virtualMachineProfile", {}).get("priority") == "Spot")


def refusal_of(item: Mapping[str, Any], *, spot: bool) -> Refusal | None:
    """Return the refusal of a machine that was not made; None for a machine that was made. A failed machine that is
    running or stopped was made: its provisioning state is that of a later operation (learn.microsoft.com, "States and
    billing status of Azure Virtual Machines")."""
    properties = item.get("properties") or {}
    statuses = (properties.get("instanceView") or {}).get("statuses") or []
    failed = next((status for status in statuses if str(status.get("code", "")).startswith(FAILED)), None)
    powers = [code for status in statuses if (code := str(status.get("code", ""))).startswith(POWER)]
    if failed is None or any(code not in UNMADE for code in powers):
        return None
    at = str(failed.get("time") or properties["timeCreated"])
    code = str(failed["code"]).removeprefix(FAILED).removeprefix("/")
    words = ": ".join(filter(None, (code, str(failed.get("message") or ""))))
    return Refusal(
        cause=refusal_cause(words, spot=spot),
        at=datetime.fromisoformat(at),
        words=words,
        machine=str(item["instanceId"]),
    )
