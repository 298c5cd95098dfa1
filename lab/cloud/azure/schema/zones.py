"""Availability zones of addresses: a single zone, or all zones of the region."""

from __future__ import annotations

from collections.abc import Sequence

from lab.cloud.azure.errors import ArmError

ALL_ZONES = ("1", "2", "3")
"""Zones of every region of the lab."""
ZONES_STAY = "ResourceAvailabilityZonesCannotBeModified"
"""Code of the refusal (Azure/AzOps issue 701)."""


def completed(zones: Sequence[str], *, of: str) -> list[str]:
    """Return the zones that Azure stores for a public address. Two or more requested zones become all zones, the
    requested ones first (Azure/azure-rest-api-specs issue 20691, hashicorp/terraform-provider-azurerm issue 16470).

    Raises:
        ArmError: 400 for a zone that the region does not have (hashicorp/terraform-provider-azurerm issue 6296).
    """
    given = list(dict.fromkeys(zones))
    check_known(given, of=of)
    return given if len(given) < 2 else [*given, *(zone for zone in ALL_ZONES if zone not in given)]


def check_known(zones: Sequence[str], *, of: str) -> None:
    """Refuse a zone that no region has."""
    unknown = ",".join(zone for zone in zones if zone not in ALL_ZONES)
    if unknown:
        raise ArmError(
            400,
            "InvalidAvailabilityZone",
            f"The zone(s) '{unknown}' for resource '{of}' is not supported. The supported zones are "
            f"'{','.join(ALL_ZONES)}'.",
        )


def one_or_all(zones: Sequence[str], *, of: str) -> None:
    """Refuse several zones unless they are all zones (the code is reported in hashicorp/terraform-provider-azurerm PR
    12208)."""
    check_known(zones, of=of)
    if len(zones) > 1 and set(zones) != set(ALL_ZONES):
        raise ArmError(
            400,
            "ResourceCannotHaveMultipleZonesSpecified",
            f"Resource {of} has {len(zones)} zones specified. Only one zone can be specified for this resource.",
        )


def zones_refused(of: str, before: Sequence[str] | None, after: Sequence[str] | None) -> ArmError:
    """Return 400 for a change of a resource's zones, in the words of Azure/AzOps issue 701."""
    was, wanted = (", ".join(zones or ()) or "NoZone" for zones in (before, after))
    return ArmError(
        400,
        ZONES_STAY,
        f"Resource {of} has an existing availability zone constraint {was} and the request has availability zone "
        f"constraint {wanted}, which do not match. Zones cannot be added/updated/removed once the resource is created. "
        "The resource cannot be updated from regional to zonal or vice-versa.",
    )
