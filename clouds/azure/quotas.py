"""Checks Azure's quotas: learn.microsoft.com, "Usage - List" (Compute) and "Usages - List" (Network): ``currentValue``
and ``limit`` of each ``name.value`` in a region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clouds.azure.names import resource_group
from clouds.azure.parts import public_addresses
from clouds.azure.reader import AzureReader
from clouds.azure.site import AzureSite
from clouds.azure.subscriptions import by_region
from clouds.azure.versions import COMPUTE_VERSION, NETWORK_VERSION, RESOURCES_VERSION
from clouds.base.doctor import CloudShare, MachineDemand
from clouds.base.findings import Finding, unknown
from clouds.base.quotas import Quota, judge
from contract.tag_keys import ENVIRONMENT

REGION, SPOT = "cores", "lowPriorityCores"
"""Names of the quotas over all families, which `az vm list-usage` shows as "Total Regional vCPUs" and "Total Regional
Low-priority vCPUs". The latter is the quota of spot machines of every family."""

ADDRESSES = ("IPv4StandardSkuPublicIpAddresses", "StandardSkuPublicIpAddresses", "PublicIPAddresses")
"""Names of the quotas that public addresses count against. A region reports some of them."""

NETWORKS = "VirtualNetworks"

RAISE = "ask for {} in the portal, Quotas"


class _Usages:
    """Usages that a region reports, by name in lower case without spaces: Compute spells families differently here and
    in its list of types."""

    def __init__(self, entries: Iterator[dict[str, Any]]) -> None:
        self._by_name = {_plain((entry.get("name") or {}).get("value", "")): entry for entry in entries}

    def find(self, name: str) -> dict[str, Any] | None:
        """Return the usage with this name; None when the region reports none."""
        return self._by_name.get(_plain(name))


def _plain(name: str) -> str:
    return name.replace(" ", "").lower()


def quotas(share: CloudShare[AzureSite], reader: AzureReader, subscription: str, region: str) -> Iterator[Finding]:
    """Check one region's quotas of cores by family and in total, of public addresses and of networks."""
    names = by_region(share)[subscription, region]
    mixed = any(_has_something(share, reader, subscription, name) for name in names)
    root = f"/subscriptions/{subscription}/providers"
    usages = _Usages(reader.pages(f"{root}/Microsoft.Compute/locations/{region}/usages", version=COMPUTE_VERSION))
    wanted = share.machines_in(*names)
    for name, group in _groups(reader, subscription, region, wanted).items():
        where = tuple(dict.fromkeys(share.at(*demand.key) for demand in group))
        least = sum(demand.least * demand.vcpus for demand in group)
        most = sum(demand.most * demand.vcpus for demand in group)
        yield _judged(usages, region, name, "vCPUs", (least, most), where, mixed=mixed)
    path = f"{root}/Microsoft.Network/locations/{region}/usages"
    network = _Usages(reader.pages(path, version=NETWORK_VERSION))
    yield from _networks(share, network, region, names, mixed=mixed)


def _has_something(share: CloudShare[AzureSite], reader: AzureReader, subscription: str, site: str) -> bool:
    """Return whether resources of the environment exist already. Azure then counts their usage as in use. A resource
    group that the file names may exist without such resources, so its tagged resources are listed: learn.microsoft.com,
    "Resources - List By Resource Group" (``$filter``)."""
    path = f"/subscriptions/{subscription}/resourcegroups/{resource_group(share.places[site])}"
    if reader.find(path, version=RESOURCES_VERSION) is None:
        return False
    if share.places[site].site.existing.resource_group is None:
        return True
    tag = f"tagName eq '{ENVIRONMENT}' and tagValue eq '{share.environment}'"
    return any(reader.pages(f"{path}/resources", version=RESOURCES_VERSION, filter=tag))


def _groups(
    reader: AzureReader, subscription: str, region: str, wanted: tuple[MachineDemand, ...]
) -> dict[str, list[MachineDemand]]:
    """Return the machines by the quotas that they count against: the family's and the region's quota, or the quota of
    all spot machines."""
    skus = reader.skus(subscription, region) if wanted else {}
    groups: dict[str, list[MachineDemand]] = {}
    for demand in wanted:
        if demand.spot:
            groups.setdefault(SPOT, []).append(demand)
            continue
        family = str(skus.get(demand.machine_type, {}).get("family") or "")
        if family:
            groups.setdefault(family, []).append(demand)
        groups.setdefault(REGION, []).append(demand)
    return groups


def _networks(
    share: CloudShare[AzureSite], usages: _Usages, region: str, names: list[str], *, mixed: bool
) -> Iterator[Finding]:
    """Check the quotas of networks, one for each site, and of addresses of NAT and VPN gateways."""
    where = share.sites(*names)
    addresses = sum(public_addresses(share.places[name]) for name in names)
    networks = sum(share.places[name].site.existing.network is None for name in names)
    known = [name for name in ADDRESSES if usages.find(name) is not None]
    for name in known or ADDRESSES[:1]:
        yield _judged(usages, region, name, "addresses", (addresses, addresses), where, mixed=mixed)
    yield _judged(usages, region, NETWORKS, "networks", (networks, networks), where, mixed=mixed)


def _judged(
    usages: _Usages,
    region: str,
    name: str,
    unit: str,
    wanted: tuple[int, int],
    where: tuple[str, ...],
    *,
    mixed: bool,
) -> Finding:
    usage = usages.find(name)
    if usage is None:
        return unknown(f"Azure {region}: it lists no quota {name!r}", *where)
    title = usage["name"].get("localizedValue") or name
    return judge(
        Quota(
            place=f"Azure {region}",
            name=f"{title} ({name})",
            unit=unit,
            limit=int(usage["limit"]),
            used=int(usage["currentValue"]),
            least=wanted[0],
            most=wanted[1],
            where=where,
            raise_it=RAISE,
            mixed=mixed,
        )
    )
