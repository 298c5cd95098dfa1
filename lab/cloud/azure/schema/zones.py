"""Availability zones of addresses: a single zone, or all zones of the region."""

from __future__ import annotations

from collections.abc import Sequence

from clouds.azure.zones import WITHOUT_ZONES
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import Put, normal_location

ALL_ZONES = ("1", "2", "3")
"""Zones of every region of the lab that has zones."""
ZONES_STAY = "ResourceAvailabilityZonesCannotBeModified"
"""Code of the refusal (Azure/AzOps issue 701)."""


def check_location(put: Put, type: str) -> None:
    """Refuse zones in a region that has none, in the words of pivotal/paving issue 79 and of
    kubernetes-sigs/cluster-api-provider-azure issue 294."""
    location = normal_location(str(put.body.get("location", "")))
    if not put.body.get("zones") or location not in WITHOUT_ZONES:
        return
    if type.startswith("Microsoft.Network/"):
        raise ArmError(
            400,
            "LocationNotSupportAvailabilityZones",
            f"The resource '{type}/{put.id.name}' does not support availability zones at location '{location}'.",
        )
    raise ArmError(
        400,
        "ResourceTypeNotSupportAvailabilityZones",
        f"The resource type '{type.rpartition('/')[2]}' does not support availability zones at location '{location}' "
        "and this api-version.",
    )


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
