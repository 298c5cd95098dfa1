"""A governed subscription: what policies add to resources, and whom a machine with several identities acts as."""

from __future__ import annotations

from typing import Any

import jwt
import pytest

from lab.cloud.azure.machine_identities import MANY
from lab.cloud.azure.policy import GOVERNED, Assignments
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, Live
from tests.lab.cloud.test_metadata import ask

SECOND = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/company"
BOTH = "SystemAssigned, UserAssigned"
COST = {"cost-center": "lab"}


def govern(live: Live, assignments: Assignments, *, remediate: bool = False) -> None:
    """Set the subscription's assignments, in the cloud's own thread."""

    async def order() -> None:
        live.cloud._arm.govern(assignments, remediate=remediate)

    live.call(order())


def shown(live: Live, path: str = estate.VM) -> dict[str, Any]:
    found: dict[str, Any] = live.arm("GET", path).json()
    return found


def owner(**named: str) -> tuple[int, str]:
    """Return the status of a machine's request for a token, and the token's owner or the error."""
    answer = ask("/identity/oauth2/token", resource="https://vault.azure.net", **named)
    body = answer.json()
    if answer.status_code != 200:
        return answer.status_code, body["error_description"]
    return 200, jwt.decode(body["access_token"], options={"verify_signature": False})["oid"]


def test_a_lab_is_not_governed_unless_it_is_told(live: Live) -> None:
    estate.build(live)
    assert shown(live)["identity"]["type"] == "UserAssigned"
    assert "tags" not in shown(live)


def test_modify_changes_what_is_written_from_then_on(live: Live) -> None:
    govern(live, GOVERNED)
    estate.build(live)
    found = shown(live)
    assert (found["tags"], found["identity"]["type"]) == (COST, BOTH)
    assert list(found["identity"]["userAssignedIdentities"]) == [estate.IDENTITY]
    assert shown(live, NETWORK)["tags"] == COST, "every resource that has tags and a location"
    assert "tags" not in shown(live, GROUP), "and no group"
    assert "tags" not in shown(live, estate.SUBNET)
    kept = found["identity"]["principalId"]
    live.put(estate.VM, {**found, "tags": {"own": "a", "cost-center": "other"}})
    found = shown(live)
    assert found["tags"] == {"own": "a", "cost-center": "other"}, "a tag that is there stays"
    assert found["identity"]["principalId"] == kept
    live.arm("PATCH", estate.VM, {"tags": {"own": "a"}})
    assert shown(live)["tags"] == {"own": "a", **COST}


def test_what_was_there_before_is_changed_by_a_remediation_task_alone(live: Live) -> None:
    estate.build(live)
    live.put(SECOND, estate.WHERE)
    everything = Assignments(tags=COST, system_identity=True, user_identity=SECOND)
    govern(live, everything)
    assert shown(live)["identity"]["type"] == "UserAssigned"
    govern(live, everything, remediate=True)
    found = shown(live)
    assert (found["tags"], found["identity"]["type"]) == (COST, BOTH)
    assert set(found["identity"]["userAssignedIdentities"]) == {estate.IDENTITY, SECOND}
    assert shown(live, NETWORK)["tags"] == COST
    revision = live.cloud.store.revision
    govern(live, everything, remediate=True)
    assert live.cloud.store.revision == revision, "there is nothing left to do"
    live.put(
        estate.VM, estate.machine(identity={"type": "UserAssigned", "userAssignedIdentities": {estate.IDENTITY: {}}})
    )
    assert SECOND not in shown(live)["identity"]["userAssignedIdentities"], "deployIfNotExists acts later than a write"
    assert shown(live)["identity"]["type"] == BOTH, "modify acts on the write itself"


def test_which_identity_a_request_without_a_name_means(live: Live) -> None:
    """learn.microsoft.com, "Managed identities for Azure resources frequently asked questions"."""
    estate.build(live)
    own = shown(live, estate.IDENTITY)["properties"]["principalId"]
    assert owner() == (200, own), "one user-assigned identity"
    company = live.put(SECOND, estate.WHERE)["properties"]["principalId"]
    govern(live, Assignments(user_identity=SECOND), remediate=True)
    assert owner() == (400, MANY), "several user-assigned identities"
    govern(live, Assignments(user_identity=SECOND, system_identity=True), remediate=True)
    system = shown(live)["identity"]["principalId"]
    assert system not in (own, company)
    assert owner() == (200, system), "with a system-assigned identity, that one"
    assert owner(msi_res_id=estate.IDENTITY.upper()) == (200, own)
    assert owner(msi_res_id=SECOND) == (200, company)
    assert owner(object_id=system) == (200, system)
    assert owner(msi_res_id=estate.VM) == (400, "Identity not found"), "a machine's id names no identity"


@pytest.mark.parametrize(
    ("kind", "held"), [("SystemAssigned", [estate.IDENTITY]), ("UserAssigned", []), (BOTH, []), ("None", [])]
)
def test_an_identity_is_as_its_type_says(live: Live, kind: str, held: list[str]) -> None:
    estate.build(live, with_machine=False)
    identity = {"type": kind, "userAssignedIdentities": {key: {} for key in held}}
    assert live.arm("PUT", estate.VM, estate.machine(identity=identity)).status_code == 400


def test_the_lab_is_governed_by_its_control(live: Live) -> None:
    async def order(action: str) -> None:
        live.cloud.govern(action)

    estate.build(live)
    live.call(order("on"))
    assert "tags" not in shown(live)
    live.call(order("remediate"))
    assert shown(live)["tags"] == COST
    live.call(order("off"))
    live.put(NETWORK, estate.network())
    assert "tags" not in shown(live, NETWORK)
