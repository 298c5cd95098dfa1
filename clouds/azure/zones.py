"""Availability zones of what is not a machine: addresses, and what is reached at them.

Machines are in the zones that a site names. An address is in one zone or in all of the region's: Azure makes three of a
public address's two (Azure/azure-rest-api-specs issue 20691), and refuses two for a load balancer's frontend
(hashicorp/terraform-provider-azurerm pull request 12208). The zones of either never change
(learn.microsoft.com/azure/load-balancer/load-balancer-standard-availability-zones, "Limitations").
"""

from __future__ import annotations

from collections.abc import Sequence

REGION = ("1", "2", "3")
"""Zones of a region that has zones (learn.microsoft.com/azure/reliability/regions-list)."""


def address_zones(zones: Sequence[str]) -> list[str]:
    """Return the zones of an address in a site whose machines are in ``zones``: the one that they are in, or all, the
    zone-redundant form."""
    return list(zones) if len(zones) == 1 else list(REGION)
