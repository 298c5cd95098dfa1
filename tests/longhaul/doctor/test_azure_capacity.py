"""Quotas and machine types of Azure. Bodies have the form of the REST reference."""

from __future__ import annotations

from typing import Any

import pytest

from clouds.azure.offers import offers
from clouds.azure.quotas import quotas as looked_at
from clouds.base.findings import Finding, NotAllowedError, Severity
from tests.longhaul.doctor.world import FILE, ROOT, SUBSCRIPTION, Manager, raw_environment, severities, share

USAGES = f"{ROOT}/providers/Microsoft.Compute/locations/westeurope/usages"
NETWORK_USAGES = f"{ROOT}/providers/Microsoft.Network/locations/westeurope/usages"
SKUS = f"{ROOT}/providers/Microsoft.Compute/skus"


def sku(name: str, family: str, vcpus: int, *, zones: str = "123", nvme: int | None = None, **more: Any) -> Any:
    capabilities = [{"name": "vCPUs", "value": str(vcpus)}]
    if nvme is not None:
        capabilities.append({"name": "NvmeDiskSizeInMiB", "value": str(nvme)})
    return {
        "resourceType": "virtualMachines",
        "name": name,
        "tier": "Standard",
        "family": family,
        "locations": ["westeurope"],
        "locationInfo": [{"location": "westeurope", "zones": list(zones), "zoneDetails": []}],
        "capabilities": capabilities,
        "restrictions": [],
        **more,
    }


def usage(name: str, used: int, limit: int, said: str = "") -> Any:
    return {
        "unit": "Count",
        "currentValue": used,
        "limit": limit,
        "name": {"value": name, "localizedValue": said or name},
    }


STORES = sku("Standard_L8s_v3", "standardLSv3Family", 8, nvme=1_831_420)
SERVERS = sku("Standard_D8s_v5", "standardDSv5Family", 8)


def quotas(manager: Manager, raw: dict[str, Any] | None = None, *, family: int = 48, addresses: int = 10) -> Any:
    """Return the findings by the quota's name. An etcd cluster needs 6 × 8 cores, API servers 2 × 8."""
    manager.lists(SKUS, STORES, SERVERS, size=1)
    manager.lists(
        USAGES,
        usage("cores", 0, 100, "Total Regional vCPUs"),
        usage("standardDSv5Family", 4, 20, "Standard DSv5 Family vCPUs"),
        usage("Standard LSv3 Family", 0, family),
        usage("lowPriorityCores", 0, 7),
        size=2,
    )
    manager.lists(NETWORK_USAGES, usage("PublicIPAddresses", 9, 9 + addresses), usage("VirtualNetworks", 8, 50))
    found = looked_at(share("azure", raw), manager.reader(), SUBSCRIPTION, "westeurope")
    return {finding.what.partition(": ")[0]: finding for finding in found}


def test_quotas_that_suffice_are_well(manager: Manager) -> None:
    # Compute's name of one family is "Standard LSv3 Family" in one list and "standardLSv3Family" in the other.
    found = quotas(manager)
    assert {finding.severity for finding in found.values()} == {Severity.OK}
    servers = found["Azure westeurope, Standard DSv5 Family vCPUs (standardDSv5Family)"]
    assert servers.what.endswith("20 vCPUs, 4 in use by others; the environment takes 16")
    assert servers.where == (f"control_plane.api in {FILE}",)
    assert {query["$filter"][0] for _, path, query in manager.asked if path == SKUS} == {"location eq 'westeurope'"}


def test_a_family_without_room_for_the_control_plane_is_a_problem(manager: Manager) -> None:
    found = quotas(manager, family=47)["Azure westeurope, Standard LSv3 Family (standardLSv3Family)"]
    assert found.severity is Severity.PROBLEM
    assert found.do == "ask for 48 in the portal, Quotas"
    assert found.where == (f"control_plane.etcd in {FILE}", f"control_plane.events in {FILE}")


def test_what_is_there_already_may_be_the_environments_own(manager: Manager) -> None:
    manager.has(f"{ROOT}/resourcegroups/dev-weu", {"name": "dev-weu"})
    found = quotas(manager, family=47)["Azure westeurope, Standard LSv3 Family (standardLSv3Family)"]
    assert found.severity is Severity.WARNING
    assert "this environment's own among them" in found.what


@pytest.mark.parametrize(("tagged", "severity"), [((), Severity.PROBLEM), (("etcd-0",), Severity.WARNING)])
def test_a_named_group_may_be_full_of_others_machines(
    manager: Manager, tagged: tuple[str, ...], severity: Severity
) -> None:
    raw = raw_environment()
    raw["sites"]["weu"]["existing"] = {"resource_group": "rg"}
    group = f"{ROOT}/resourcegroups/rg"
    manager.has(group, {"name": "rg"})
    manager.lists(f"{group}/resources", *({"name": name} for name in tagged))
    found = quotas(manager, raw, family=47)["Azure westeurope, Standard LSv3 Family (standardLSv3Family)"]
    assert found.severity is severity
    (query,) = [query for _, path, query in manager.asked if path == f"{group}/resources"]
    assert query["$filter"] == ["tagName eq 'longhaul-environment' and tagValue eq 'dev'"]


def test_a_vpn_gateway_takes_an_address_more(manager: Manager) -> None:
    found = quotas(manager, addresses=1)["Azure westeurope, PublicIPAddresses (PublicIPAddresses)"]
    assert found.severity is Severity.PROBLEM
    assert "the environment takes 2" in found.what


def test_spot_machines_count_against_their_own_quota(manager: Manager) -> None:
    raw = raw_environment()
    raw["pools"]["spare"] = {"site": "weu", "machine_type": "Standard_D8s_v5", "max": 4, "spot": True}
    found = quotas(manager, raw)["Azure westeurope, lowPriorityCores (lowPriorityCores)"]
    assert found.severity is Severity.WARNING
    assert "7 vCPUs, 0 in use by others; the environment takes 0 to 32" in found.what


def types(manager: Manager, *skus: Any, raw: dict[str, Any] | None = None) -> list[Finding]:
    manager.lists(SKUS, *skus)
    return list(offers(share("azure", raw), manager.reader(), "weu"))


def test_types_with_local_disks_in_every_zone_are_well(manager: Manager) -> None:
    assert {finding.severity for finding in types(manager, STORES, SERVERS)} == {Severity.OK}


def test_a_type_that_the_region_has_not_is_a_problem(manager: Manager) -> None:
    found = types(manager, STORES)
    assert severities(found)[2] == ("problem", "Standard_D8s_v5 is not offered in westeurope to this subscription")


@pytest.mark.parametrize(("said", "severity"), [("False", Severity.PROBLEM), ("True", Severity.OK)])
def test_a_type_without_encryption_at_host_is_a_problem(manager: Manager, said: str, severity: Severity) -> None:
    servers = sku("Standard_D8s_v5", "standardDSv5Family", 8)
    servers["capabilities"].append({"name": "EncryptionAtHostSupported", "value": said})
    found = types(manager, STORES, servers)[2]
    assert found.severity is severity
    assert ("no encryption at host in westeurope" in found.what) is (said == "False")


def test_zones_that_are_kept_from_the_subscription_do_not_count(manager: Manager) -> None:
    kept = {
        "type": "Zone",
        "values": ["westeurope"],
        "restrictionInfo": {"locations": ["westeurope"], "zones": ["2"]},
        "reasonCode": "NotAvailableForSubscription",
    }
    servers = sku("Standard_D8s_v5", "standardDSv5Family", 8, restrictions=[kept])
    found = types(manager, STORES, servers)[2]
    assert found.what == "Standard_D8s_v5 is not available in zone 2 of westeurope"
    assert found.do.endswith("these zones: 1, 3")


def test_a_region_that_is_kept_from_the_subscription_is_a_problem(manager: Manager) -> None:
    kept = {
        "type": "Location",
        "values": ["westeurope"],
        "restrictionInfo": {"locations": ["westeurope"]},
        "reasonCode": "NotAvailableForSubscription",
    }
    found = types(manager, STORES, sku("Standard_D8s_v5", "standardDSv5Family", 8, restrictions=[kept]))[2]
    assert found.severity is Severity.PROBLEM
    assert "(NotAvailableForSubscription)" in found.what


@pytest.mark.parametrize(
    ("capabilities", "severity"),
    [
        ({"NvmeDiskSizeInMiB": "1831420"}, Severity.OK),
        ({"MaxResourceVolumeMB": "81920"}, Severity.WARNING),
        ({"MaxResourceVolumeMB": "0"}, Severity.PROBLEM),
        ({}, Severity.UNKNOWN),
    ],
)
def test_stores_want_local_nvme(manager: Manager, capabilities: dict[str, str], severity: Severity) -> None:
    said = [{"name": name, "value": value} for name, value in {"vCPUs": "8", **capabilities}.items()]
    stores = sku("Standard_L8s_v3", "standardLSv3Family", 8, capabilities=said)
    assert types(manager, stores, SERVERS)[0].severity is severity


@pytest.mark.parametrize(
    ("zones", "restrictions", "said", "do"),
    [
        ("123", [], "PremiumV2_LRS disks are offered in zone 2 of westeurope", ""),
        ("13", [], "not available in zone 2 of westeurope, and", "one of the zones: 1, 3"),
        ("", [], "not available in zone 2 of westeurope, and", "no learner in this region"),
        (None, [], "zone 2 of westeurope (not offered there)", "no learner in this region"),
        (
            "123",
            [{"type": "Location", "values": ["westeurope"], "reasonCode": "NotAvailableForSubscription"}],
            "zone 2 of westeurope (NotAvailableForSubscription)",
            "no learner in this region",
        ),
    ],
)
def test_the_learners_disk_has_to_be_offered_in_its_zone(
    manager: Manager, zones: str | None, restrictions: list[Any], said: str, do: str
) -> None:
    raw = raw_environment()
    raw["control_plane"]["etcd"]["learner"] = {"zone": "2", "machine_type": "Standard_D8s_v5"}
    disk = sku("PremiumV2_LRS", "", 0, zones=zones or "", resourceType="disks", restrictions=restrictions)
    (found,) = (
        one
        for one in types(manager, STORES, SERVERS, *([disk] if zones is not None else []), raw=raw)
        if "PremiumV2_LRS" in one.what
    )
    assert said in found.what
    assert found.severity is (Severity.PROBLEM if do else Severity.OK)
    assert (found.do, found.where) == (do, (f"control_plane.etcd.learner.zone in {FILE}",))


def test_other_cores_than_the_file_says_are_a_problem(manager: Manager) -> None:
    found = types(manager, STORES, sku("Standard_D8s_v5", "standardDSv5Family", 4))[-1]
    assert found.what == "Standard_D8s_v5 has 4 vCPUs, not 8"
    assert found.where == (f"machine_types.Standard_D8s_v5.vcpus in {FILE}",)


def test_infiniband_is_in_no_zone_of_ours(manager: Manager) -> None:
    raw = raw_environment()
    raw["pools"]["h100"] = {"site": "weu", "machine_type": "Standard_ND96isr_H100_v5", "max": 4}
    h100 = sku("Standard_ND96isr_H100_v5", "standardNDSH100v5Family", 96, zones="1")
    assert {finding.severity for finding in types(manager, STORES, SERVERS, h100, raw=raw)} == {Severity.OK}


def test_a_refusal_names_the_right_that_is_missing(manager: Manager) -> None:
    manager.refused[USAGES.lower()] = (403, "AuthorizationFailed")
    with pytest.raises(NotAllowedError, match="AuthorizationFailed, it says"):
        list(looked_at(share("azure"), manager.reader(), SUBSCRIPTION, "westeurope"))
