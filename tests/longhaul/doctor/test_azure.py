"""The questions to Azure's resource manager, and the meaning of the answers. Bodies have the form of the REST
reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clouds.azure import doctor, image_checks
from clouds.azure.errors import AzureError
from clouds.azure.permissions import FEATURES, PROVIDERS, actions, permissions, registrations, scaling_role
from clouds.azure.reader import AzureReader
from clouds.azure.roles import AUTOSCALER
from clouds.base.findings import Finding, NotAskedError, Severity
from clouds.base.pool_section import Pool
from tests.longhaul.doctor.world import (
    FILE,
    ROOT,
    SUBSCRIPTION,
    TENANT,
    Manager,
    named_environment,
    raw_environment,
    share,
)

KEY = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
PERMISSIONS = f"{ROOT}/providers/Microsoft.Authorization/permissions"
NETWORKS = f"{ROOT}/providers/Microsoft.Network/virtualNetworks"


def test_a_subscription_is_told_with_its_tenant(manager: Manager) -> None:
    document = {"id": ROOT, "tenantId": TENANT, "displayName": "Research", "state": "Enabled"}
    manager.has(ROOT, document)
    (found,) = doctor.credentials(share("azure"), manager.reader(), SUBSCRIPTION)
    assert found.severity is Severity.OK
    assert "(Research)" in found.what
    assert TENANT in found.what
    assert manager.asked[0][2]["api-version"] == ["2022-12-01"]


def test_another_tenant_or_a_disabled_subscription_is_a_problem(manager: Manager) -> None:
    manager.has(ROOT, {"id": ROOT, "tenantId": "another", "displayName": "Research", "state": "Warned"})
    tenant, state = doctor.credentials(share("azure"), manager.reader(), SUBSCRIPTION)
    assert (tenant.severity, state.severity) == (Severity.PROBLEM, Severity.PROBLEM)
    assert tenant.where == (f"sites.weu.tenant in {FILE}",)
    assert "Warned" in state.what


def test_an_examples_subscription_is_not_asked_for() -> None:
    raw = raw_environment()
    raw["sites"]["weu"]["subscription"] = "00000000-0000-4000-8000-000000000001"
    example = share("azure", raw)
    assert doctor.without_examples(example).places == {}
    assert {one.name for one in doctor.AzureCloudDoctor().questions(example)} == {"credentials", "durations", "clock"}
    (found,) = doctor.example_subscriptions(example)
    assert found.severity is Severity.PROBLEM
    assert found.where == (f"sites.weu.subscription in {FILE}",)


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        ([{"actions": ["*"], "notActions": []}], ""),
        ([{"actions": list(actions()), "notActions": []}], ""),
        (
            [{"actions": ["*"], "notActions": ["Microsoft.Authorization/*/Write", "Microsoft.Authorization/*/Delete"]}],
            "Microsoft.Authorization/roleAssignments/write, Microsoft.Authorization/roleAssignments/delete",
        ),
        (
            [
                {"actions": ["*"], "notActions": ["Microsoft.Authorization/*/write"]},
                {"actions": ["Microsoft.Authorization/roleAssignments/*"], "notActions": []},
            ],
            "",
        ),
        (
            [{"actions": ["*"], "notActions": ["Microsoft.Compute/virtualMachines/write"]}],
            "Microsoft.Compute/virtualMachines/write",
        ),
    ],
    ids=["owner", "the role's", "contributor", "and user access administrator", "a part taken away"],
)
def test_what_is_granted_is_compared_with_the_role(manager: Manager, granted: list[Any], missing: str) -> None:
    manager.lists(PERMISSIONS, *granted, size=1)
    found, second = permissions(share("azure"), manager.reader(), SUBSCRIPTION)
    assert ("is not granted" in second.what) is (granted[0]["actions"] != ["*"])
    assert found.severity is (Severity.PROBLEM if missing else Severity.OK)
    assert found.what.endswith(f"not granted: {missing}" if missing else f"the subscription {SUBSCRIPTION}")
    assert {query["api-version"][0] for _, _, query in manager.asked} == {"2015-07-01"}


def test_the_role_is_held_against_what_is_polled(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    """A role that lacks a right to poll is incomplete, whatever it lists itself."""
    role = tuple(action for action in actions() if "privateDnsOperation" not in action)
    monkeypatch.setattr("clouds.azure.permissions.actions", lambda *file: () if file else role)
    manager.lists(PERMISSIONS, {"actions": list(role), "notActions": []})
    finding, _ = permissions(share("azure"), manager.reader(), SUBSCRIPTION)
    assert finding.what.endswith(
        "not granted: Microsoft.Network/privateDnsOperationStatuses/read, "
        "Microsoft.Network/privateDnsOperationResults/read"
    )


def test_rights_are_looked_for_on_the_group_that_the_file_names(manager: Manager) -> None:
    """Operations are the subscription's, so reading them is granted there."""
    named = share("azure", named_environment())
    manager.lists(
        f"{ROOT}/resourceGroups/rg/providers/Microsoft.Authorization/permissions", {"actions": list(actions())}
    )
    manager.lists(PERMISSIONS, {"actions": ["*/read"]})
    group, second = permissions(named, manager.reader(), SUBSCRIPTION)
    assert group.what == "Azure: everything that docs/getting-started.md lists is granted in the resource group rg"
    assert second.what.startswith("Azure: the role Longhaul destroyer is not granted in the resource group rg")
    manager.lists(PERMISSIONS)
    unread = list(permissions(named, manager.reader(), SUBSCRIPTION))[-1]
    assert unread.severity is Severity.PROBLEM
    assert "operations cannot be read: " in unread.what
    assert "Microsoft.Network/locations/operations/read" in unread.what


def test_the_first_up_with_backups_needs_the_second_role(manager: Manager) -> None:
    """Without it ``up`` ended half way, with backups that nothing protected."""
    raw = named_environment() | {"backups": {"recipients": [KEY]}}
    site = share("azure", raw).places["weu"]
    group = f"{ROOT}/resourceGroups/rg/providers"
    account = f"{group}/Microsoft.Storage/storageAccounts/{site.backup_account}/blobServices/default/containers"
    manager.lists(f"{group}/Microsoft.Authorization/permissions", {"actions": list(actions())})
    manager.lists(PERMISSIONS, {"actions": ["*/read"]})
    manager.has(f"{account}/daily", {"properties": {"hasImmutabilityPolicy": True}})
    *_, finding = permissions(share("azure", raw), manager.reader(), SUBSCRIPTION)
    assert finding.severity is Severity.WARNING
    assert finding.what.startswith("Azure: nothing protects backups in frequent, hourly yet, and ")
    for kept in ("frequent", "hourly"):
        manager.has(f"{account}/{kept}", {"properties": {"hasImmutabilityPolicy": True}})
    assert {one.severity for one in permissions(share("azure", raw), manager.reader(), SUBSCRIPTION)} == {Severity.OK}


def test_what_is_not_registered_is_told_with_the_command(manager: Manager) -> None:
    for provider in PROVIDERS:
        state = "NotRegistered" if provider == "Microsoft.KeyVault" else "Registered"
        manager.has(f"{ROOT}/providers/{provider}", {"namespace": provider, "registrationState": state})
    for provider, feature in FEATURES:
        path = f"{ROOT}/providers/Microsoft.Features/providers/{provider}/features/{feature}"
        manager.has(path, {"name": f"{provider}/{feature}", "properties": {"state": "registered"}})
    vault, healthy = registrations(share("azure"), manager.reader(), SUBSCRIPTION)
    assert vault.do == f"az provider register --subscription {SUBSCRIPTION} --namespace Microsoft.KeyVault"
    assert "Microsoft.Compute/EncryptionAtHost" in healthy.what
    assert "Microsoft.KeyVault" not in healthy.what


def image(manager: Manager, *regions: str, state: str = "Succeeded", copies: int = 3) -> Finding:
    looked_at = share("azure")
    targets = [{"name": region, "regionalReplicaCount": copies} for region in regions]
    document = {"properties": {"provisioningState": state, "publishingProfile": {"targetRegions": targets}}}
    if regions:
        manager.has(looked_at.places["weu"].site.image, document)
    (found,) = image_checks.image(looked_at, manager.reader(), "weu")
    return found


def test_an_image_has_to_be_in_the_region(manager: Manager) -> None:
    assert image(manager, "East US", "West Europe").severity is Severity.OK
    assert image(manager, "East US").what == "the image version 1.2.0 is not in westeurope, only in eastus"
    assert image(manager, "West Europe", state="Creating").severity is Severity.WARNING


def test_an_image_has_copies_for_the_largest_growth(manager: Manager) -> None:
    finding = image(manager, "West Europe", copies=1)
    assert finding.severity is Severity.WARNING
    assert "has 1 copies in westeurope, and the pools' machines need 3" in finding.what


@pytest.mark.parametrize(
    ("features", "severity", "words"),
    [
        ({"DiskControllerTypes": "SCSI,NVMe"}, Severity.OK, "what machines"),
        ({"SecurityType": "TrustedLaunchSupported"}, Severity.PROBLEM, "takes no version from the machine that bakes"),
        ({}, Severity.PROBLEM, "does not name NVMe, so Standard_D8s_v6 does not start"),
        ({"SecurityType": "TrustedLaunch"}, Severity.PROBLEM, "of the security type TrustedLaunch alone"),
        (None, Severity.PROBLEM, "no such image definition"),
    ],
    ids=["well", "no bake", "without NVMe", "Trusted Launch alone", "none"],
)
def test_a_definition_has_the_features_that_machines_need(
    manager: Manager, features: dict[str, str] | None, severity: Severity, words: str
) -> None:
    """Asked before the first bake: features of a definition never change."""
    raw = raw_environment()
    raw["machine_types"] = {"Standard_D8s_v6": {"cloud": "azure", "vcpus": 8, "memory_gib": 32}}
    raw["control_plane"]["api"]["machine_type"] = "Standard_D8s_v6"
    raw["sites"]["weu"]["image"] = raw["sites"]["weu"]["image"].replace("1.2.0", "0.0.0")
    if features is not None:
        listed = [{"name": name, "value": value} for name, value in features.items()]
        path = raw["sites"]["weu"]["image"].partition("/versions/")[0]
        manager.has(path, {"properties": {"hyperVGeneration": "V2", "features": listed}})
    (finding,) = image_checks.definition(share("azure", raw), manager.reader(), "weu")
    assert finding.severity is severity
    assert words in finding.what


def test_an_image_that_is_not_there_is_to_be_baked(manager: Manager) -> None:
    found = image(manager)
    assert found.severity is Severity.PROBLEM
    assert found.do == "`longhaul image build --env dev --site weu` ends with the id to write here"


def test_a_placeholder_is_told_without_asking(manager: Manager) -> None:
    raw = raw_environment()
    raw["sites"]["weu"]["image"] = raw["sites"]["weu"]["image"].replace("1.2.0", "0.0.0")
    looked_at = share("azure", raw)
    (found,) = image_checks.image(looked_at, manager.reader(), "weu")
    assert found.what == "no image is baked yet: this id stands for the first"
    assert manager.asked == []


def network(name: str, group: str, *prefixes: str) -> dict[str, Any]:
    return {
        "id": f"{ROOT}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/{name}",
        "name": name,
        "location": "westus",
        "properties": {"addressSpace": {"addressPrefixes": list(prefixes)}, "subnets": []},
    }


def test_other_networks_that_overlap_are_a_warning(manager: Manager) -> None:
    manager.lists(
        NETWORKS,
        network("ours", "DEV-weu", "10.64.0.0/16"),
        network("old", "it", "192.168.0.0/24", "10.79.0.0/16", "fd00::/48"),
        network("far", "it", "172.16.0.0/16"),
        size=2,
    )
    (found,) = doctor.addresses(share("azure"), manager.reader(), SUBSCRIPTION)
    assert found.severity is Severity.WARNING
    assert found.what == "the virtual network old in it, westus has 10.79.0.0/16, inside or around 10.64.0.0/12"
    assert found.where == (f"supernet in {FILE}",)


def test_networks_elsewhere_are_well(manager: Manager) -> None:
    manager.lists(NETWORKS, network("far", "it", "172.16.0.0/16"))
    (found,) = doctor.addresses(share("azure"), manager.reader(), SUBSCRIPTION)
    assert found.severity is Severity.OK


def test_the_token_goes_to_nobody_else(manager: Manager) -> None:
    manager.has(NETWORKS, {"value": [], "nextLink": "http://127.0.0.1:9/else"})
    with pytest.raises(NotAskedError, match="another address"):
        list(doctor.addresses(share("azure"), manager.reader(), SUBSCRIPTION))


def test_who_is_not_signed_in_is_asked_once() -> None:
    class Nobody:
        asked = 0

        def request(self, *_: Any, **__: Any) -> Any:
            self.asked += 1
            raise AzureError("no Azure credential works", status=401)

    nobody = Nobody()
    reader = AzureReader(nobody)
    for _ in range(2):
        with pytest.raises(NotAskedError, match="no Azure credential works") as raised:
            reader.get("/subscriptions/x", version="1")
        assert "az login" in raised.value.do
    assert nobody.asked == 1


@pytest.mark.parametrize(("known", "severity"), [([AUTOSCALER], Severity.OK), (["other"], Severity.PROBLEM)])
def test_the_autoscaler_s_role_is_looked_for_where_it_acts(
    manager: Manager, known: list[str], severity: Severity
) -> None:
    told = share("azure")
    roles = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
    manager.lists(roles, *({"name": name} for name in known))
    assert list(scaling_role(told, manager.reader(), SUBSCRIPTION)) == []
    pool = Pool(site="weu", machine_type="Standard_D8s_v5", max=1)
    places = {name: replace(place, scales=True, pools={"cpu": pool}) for name, place in told.places.items()}
    (found,) = scaling_role(replace(told, places=places), manager.reader(), SUBSCRIPTION)
    assert found.severity is severity
