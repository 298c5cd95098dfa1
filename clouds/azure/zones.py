"""Names of availability zones, and the zones of addresses and load balancers.

Machines are in the zones that a site names. An address is in one zone or in all three of the region: Azure turns two
zones of a public address into three (Azure/azure-rest-api-specs issue 20691), and refuses two for a load balancer's
frontend (hashicorp/terraform-provider-azurerm pull request 12208). The zones of an address or a frontend never change
(learn.microsoft.com/azure/load-balancer/load-balancer-standard-availability-zones, "Limitations").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ZONES = ("1", "2", "3")
"""Zones of a region that has zones (learn.microsoft.com/azure/reliability/regions-list), by their names in each
subscription (learn.microsoft.com, "What are Azure availability zones?", physical and logical zones)."""


DAY = "2025-09-23"
"""Day of the list of regions without zones."""

WITHOUT_ZONES = frozenset(
    {
        "australiacentral", "australiacentral2", "australiasoutheast", "brazilsoutheast", "canadaeast",
        "francesouth", "germanynorth", "koreasouth", "northcentralus", "norwaywest", "southafricawest",
        "southindia", "switzerlandwest", "uaecentral", "ukwest", "westcentralus", "westindia", "westus",
    }
)  # fmt: skip
"""Regions without availability zones (MicrosoftDocs/reliability-docs, ``regions-list.md``). Azure refuses resources
with zones there (pivotal/paving issue 79, kubernetes-sigs/cluster-api-provider-azure issue 294)."""


def default_zones(section: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the zones of the region of a site that names none."""
    return () if section.get("region") in WITHOUT_ZONES else ZONES


def address_zones(region: str, zones: Sequence[str]) -> list[str] | None:
    """Return the zones of an address in a site whose machines are in ``zones``: the same zone if there is only one,
    otherwise all three (zone-redundant). Return ``None`` in a region without zones; a VPN gateway of an AZ size takes
    an address without zones there (azure-docs ``gateway-sku-consolidation.md``, "FAQ")."""
    if region in WITHOUT_ZONES and not zones:
        return None
    return list(zones) if len(zones) == 1 else list(ZONES)
