"""Names of availability zones, and the zones of addresses and load balancers.

Machines are in the zones that a site names. An address is in one zone or in all three of the region: Azure turns two
zones of a public address into three (Azure/azure-rest-api-specs issue 20691), and refuses two for a load balancer's
frontend (hashicorp/terraform-provider-azurerm pull request 12208). The zones of an address or a frontend never change
(learn.microsoft.com/azure/load-balancer/load-balancer-standard-availability-zones, "Limitations").
"""

from __future__ import annotations

from collections.abc import Sequence

ZONES = ("1", "2", "3")
"""Zones of a region that has zones (learn.microsoft.com/azure/reliability/regions-list), by their names in each
subscription (learn.microsoft.com, "What are Azure availability zones?", physical and logical zones)."""


def address_zones(zones: Sequence[str]) -> list[str]:
    """Return the zones of an address in a site whose machines are in ``zones``: the same zone if there is only one,
    otherwise all three (zone-redundant)."""
    return list(zones) if len(zones) == 1 else list(ZONES)
