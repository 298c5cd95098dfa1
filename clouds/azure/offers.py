"""Checks that Azure's zones offer the machine types and disks to this subscription, and that types for etcd clusters
have local SSD.

learn.microsoft.com, "Resource Skus - List": ``locationInfo`` has the zones, ``restrictions`` lists where the
subscription may not use a type (``Location`` or ``Zone``), and ``capabilities`` has the cores and disks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.azure.groups import has_infiniband
from clouds.azure.reader import AzureReader, region_name
from clouds.azure.site import AzureSite
from clouds.base.doctor import CloudShare, MachineDemand, cores_differ
from clouds.base.findings import Finding, ok, problem, unknown, warning

NVME = "NvmeDiskSizeInMiB"
"""Capability of types with local NVMe disks."""
ENCRYPTION = "EncryptionAtHostSupported"
"""Capability of types whose disks the host can encrypt, which every machine requires: ``True`` or ``False``
(learn.microsoft.com/azure/virtual-machines/linux/disks-enable-host-based-encryption-cli)."""
TEMPORARY = "MaxResourceVolumeMB"
"""Capability of types with a temporary disk of any kind."""

DURABLE = "PremiumV2_LRS"
"""Type of disks that outlive their machine (components/azure/data_disk.py)."""


def offers(share: CloudShare[AzureSite], reader: AzureReader, name: str) -> Iterator[Finding]:
    """Check the machine types of one site, and the disks that outlive their machines."""
    site, wanted = share.places[name].site, share.machines_in(name)
    skus = reader.skus(site.subscription, site.region) if wanted else {}
    for demand in wanted:
        yield _judged(share, demand, skus.get(demand.machine_type))
    for demand in wanted:
        if demand.durable_disk:
            yield _durable(share, demand, reader.skus(site.subscription, site.region, of="disks").get(DURABLE))
    cores = {
        type_: _capability(skus[type_], "vCPUs") for type_ in {demand.machine_type for demand in wanted} & set(skus)
    }
    yield from cores_differ(share, wanted, {type_: count for type_, count in cores.items() if count is not None})


def _judged(share: CloudShare[AzureSite], demand: MachineDemand, sku: dict[str, Any] | None) -> Finding:
    site, key = share.places[demand.site].site, share.at(*demand.key)
    if sku is None:
        do = "another type, or another region"
        return problem(f"{demand.machine_type} is not offered in {site.region} to this subscription", key, do=do)
    barred = _barred(sku, site.region)
    if barred:
        what = f"{demand.machine_type} is not for this subscription in {site.region} ({barred})"
        return problem(what, key, do="ask Azure's support for it, or take another type or region")
    # A placement group is in one place, which Azure chooses (components/azure/pools.py).
    chosen = demand.zones or site.zones
    zonal = bool(chosen) and not (demand.pooled and has_infiniband(demand.machine_type))
    zones = _zones(sku, site.region)
    missing = [zone for zone in chosen if zone not in zones] if zonal else []
    if missing:
        what = f"{demand.machine_type} is not available in zone {', '.join(missing)} of {site.region}"
        do = f"these zones: {', '.join(sorted(zones))}" if zones else "a site of pools without zones (`zones: []`)"
        return problem(what, key, share.at("sites", demand.site, "zones"), do=f"another type, or {do}")
    if _capability_value(sku, ENCRYPTION) == "False":
        what = f"{demand.machine_type} has no encryption at host in {site.region}, and machines are not made without it"
        return problem(what, key, do="another type")
    where = f"zones {', '.join(chosen)} of {site.region}" if zonal else site.region
    return _disks(demand, sku, key) if demand.etcd else ok(f"{demand.machine_type} is offered in {where}", key)


def _durable(share: CloudShare[AzureSite], demand: MachineDemand, sku: dict[str, Any] | None) -> Finding:
    """Judge whether the machine's zone offers the disks that outlive their machine (learn.microsoft.com, "Deploy a
    Premium SSD v2", "Determine region availability programmatically")."""
    region, key = share.places[demand.site].site.region, share.at(*demand.key, "zone")
    barred = "not offered there" if sku is None else _barred(sku, region)
    zones = _zones(sku, region) if sku and not barred else set()
    missing = [zone for zone in demand.zones if zone not in zones]
    if missing:
        where = f"zone {', '.join(missing)} of {region}{f' ({barred})' if barred else ''}"
        have = f"one of the zones: {', '.join(sorted(zones))}" if zones else "no learner in this region"
        return problem(f"{DURABLE} disks are not available in {where}, and the learner needs one", key, do=have)
    return ok(f"{DURABLE} disks are offered in zone {', '.join(demand.zones)} of {region}", key)


def _disks(demand: MachineDemand, sku: dict[str, Any], key: str) -> Finding:
    """Judge a type's local disks, because members of etcd clusters write to local SSD."""
    nvme, temporary = _capability(sku, NVME), _capability(sku, TEMPORARY)
    if nvme:
        return ok(f"{demand.machine_type} is offered in every zone, with local NVMe disks", key)
    if temporary:
        what = (
            f"{demand.machine_type} is offered in every zone, but Azure lists no NVMe disks for it, only a "
            "temporary one"
        )
        return warning(what, key, do="a type with local NVMe disks: etcd's latency is that of its disk")
    if nvme is None and temporary is None:
        return unknown(f"Azure does not report whether {demand.machine_type} has local disks", key)
    return problem(f"{demand.machine_type} has no local disk", key, do="a type with local NVMe disks")


def _capability(sku: dict[str, Any], name: str) -> int | None:
    """Return a capability that is a number; None when the type does not state it."""
    text = _capability_value(sku, name)
    return int(text) if text.isdecimal() else None


def _capability_value(sku: dict[str, Any], name: str) -> str:
    """Return a capability's value; empty when the type does not state it."""
    return {str(each.get("name")): str(each.get("value")) for each in sku.get("capabilities") or []}.get(name, "")


def _barred(sku: dict[str, Any], region: str) -> str:
    """Return the reason why the subscription may not use a type in a region; empty when it may."""
    for restriction in sku.get("restrictions") or []:
        info = restriction.get("restrictionInfo") or {}
        places = [*(info.get("locations") or []), *(restriction.get("values") or [])]
        if restriction.get("type") == "Location" and region in map(region_name, places):
            return str(restriction.get("reasonCode") or "no reason given")
    return ""


def _zones(sku: dict[str, Any], region: str) -> set[str]:
    """Return the zones of a region in which the subscription may use a type."""
    offered = {
        str(zone)
        for info in sku.get("locationInfo") or []
        if region_name(str(info.get("location"))) == region
        for zone in info.get("zones") or []
    }
    kept = {
        str(zone)
        for restriction in sku.get("restrictions") or []
        if restriction.get("type") == "Zone"
        for zone in (restriction.get("restrictionInfo") or {}).get("zones") or []
    }
    return offered - kept
