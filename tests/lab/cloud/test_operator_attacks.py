"""Somebody who has the operator's role, on one resource group as the page says, tries to get more. Every way is
refused, and the everyday work is not."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from clouds.azure.roles import AUTOSCALER, BLOB_CONTRIBUTOR, BLOB_READER, READER, SECRETS_OFFICER, SECRETS_USER
from lab.cloud.app import SUBSCRIPTION
from lab.cloud.azure.access import operator_condition
from lab.cloud.azure.roles import CONTRIBUTOR, DESTROYER, OPERATOR, OWNER
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, Live, running
from tests.lab.cloud.test_backup_storage import CONTAINER, EXPIRY, POLICY, RETENTION
from tests.lab.cloud.test_blobs import ACCOUNT, account
from tests.lab.cloud.test_commands import COMMAND
from tests.lab.cloud.test_identity import body

ROOT = f"/subscriptions/{SUBSCRIPTION}"
FOREIGN = f"{ROOT}/resourceGroups/company"
PROVIDERS = f"{FOREIGN}/providers"
IDENTITY = f"{PROVIDERS}/Microsoft.ManagedIdentity/userAssignedIdentities/deploys-as-owner"
MACHINE = f"{PROVIDERS}/Microsoft.Compute/virtualMachines/build"
CREDENTIAL = {
    "properties": {"issuer": "https://evil.example", "subject": "me", "audiences": ["api://AzureADTokenExchange"]}
}
KEY_OF_ANOTHER_VAULT = {"encryption": {"keySource": "Microsoft.Keyvault", "keyvaultproperties": {"keyname": "k"}}}
ARCHIVE = {"properties": {"policy": {"rules": [{"definition": {"actions": {"baseBlob": {"tierToArchive": {}}}}}]}}}
DAY = {"properties": {"immutabilityPeriodSinceCreationInDays": 1}}
OFFICER = "0b000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """Somebody with the operator's role on one group and Reader on the subscription."""

    live: Live
    principal: str
    machine: str
    """Principal of a machine of the environment."""
    token: str

    def ask(self, method: str, path: str, document: Any = None) -> str:
        """Return the status of the answer, with the code of a refusal."""
        answer = self.live.arm(method, path, document, token=self.token, headers={"If-Match": "*"})
        return f"{answer.status_code} {answer.json()['error']['code']}" if answer.status_code >= 400 else "done"

    def give(self, role: str, principal: str, *, scope: str = GROUP, kind: str = "ServicePrincipal") -> str:
        """Try to assign a role."""
        document = body(role, principal)
        document["properties"]["principalType"] = kind
        return self.ask("PUT", f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}", document)


@pytest.fixture(scope="module", name="attacker")
def _attacker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacker]:
    with running(tmp_path_factory.mktemp("attacked") / "cloud") as live:
        estate.build(live)
        live.put(ACCOUNT, account())
        live.put(CONTAINER, {})
        live.put(POLICY, RETENTION)
        live.put(FOREIGN, estate.WHERE)
        live.put(IDENTITY, estate.WHERE)
        live.put(f"{IDENTITY}-2", estate.WHERE)
        nic = f"{PROVIDERS}/Microsoft.Network/networkInterfaces/build"
        live.make(nic, estate.interface("127.8.0.20"))
        machine = estate.machine(nic=nic)
        machine["properties"]["osProfile"]["computerName"] = "build"
        live.put(MACHINE, machine)
        principal = live.arm("GET", f"{IDENTITY}-2").json()["properties"]["principalId"]
        condition = operator_condition(operator=principal, people=[OFFICER])
        limits = {"condition": condition, "conditionVersion": "2.0"}
        for scope, role, more in ((GROUP, OPERATOR, limits), (ROOT, READER, {})):
            document = body(role, principal)
            document["properties"] |= more
            path = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
            assert live.arm("PUT", path, document, token=live.owner()).status_code == 201
        token = live.cloud._identity.token(object_id=principal, app_id="a", audience="https://management.azure.com")
        identity = live.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
        yield Attacker(live=live, principal=principal, machine=identity, token=token)


@pytest.mark.parametrize(
    ("method", "path", "document"),
    [
        ("PUT", f"{IDENTITY}/federatedIdentityCredentials/mine", CREDENTIAL),
        ("PUT", f"{estate.IDENTITY}/federatedIdentityCredentials/mine", CREDENTIAL),
        ("POST", f"{MACHINE}/runCommand", COMMAND),
        ("PUT", MACHINE, estate.machine()),
        ("DELETE", POLICY, None),
        ("PUT", POLICY, DAY),
        ("PUT", ACCOUNT, {**account(), "properties": KEY_OF_ANOTHER_VAULT}),
        ("PUT", EXPIRY, ARCHIVE),
        ("DELETE", CONTAINER, None),
        ("DELETE", ACCOUNT, None),
        ("DELETE", GROUP, None),
        ("DELETE", FOREIGN, None),
        ("POST", f"{ROOT}/providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/lh/purge", None),
    ],
    ids=[
        "a credential of a foreign identity",
        "a credential of an identity of the environment",
        "a command on a foreign machine",
        "a change of a foreign machine",
        "the retention ended",
        "the retention shortened",
        "a key of another vault, to be deleted",
        "the rules of expiry",
        "the container",
        "the account",
        "the group with all of it",
        "a foreign group",
        "the purge of a vault",
    ],
)
def test_an_attack_by_the_operator_s_role_is_refused(attacker: Attacker, method: str, path: str, document: Any) -> None:
    assert attacker.ask(method, path, document) == "403 AuthorizationFailed"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"identity": {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY: {}}}}, estate.VM),
        ({"nic": f"{PROVIDERS}/Microsoft.Network/networkInterfaces/build"}, f"{estate.VM}-2"),
    ],
    ids=["a foreign identity", "a foreign interface"],
)
def test_a_machine_gets_nothing_of_others(attacker: Attacker, change: Mapping[str, Any], path: str) -> None:
    assert attacker.ask("PUT", path, estate.machine(**change)) == "403 LinkedAuthorizationFailed"


def test_roles_go_to_machines_and_to_the_people_of_the_file_alone(attacker: Attacker) -> None:
    refused = "403 AuthorizationFailed"
    person = str(uuid.uuid4())
    assert attacker.give(OWNER, attacker.machine) == refused
    assert attacker.give(CONTRIBUTOR, attacker.machine) == refused
    assert attacker.give(DESTROYER, attacker.machine) == refused
    for role in (BLOB_CONTRIBUTOR, SECRETS_USER, SECRETS_OFFICER, AUTOSCALER):
        assert attacker.give(role, attacker.principal) == refused, "to oneself"
        assert attacker.give(role, person, kind="User") == refused, "to a person that the file does not name"
    assert attacker.give(SECRETS_OFFICER, attacker.machine) == refused
    assert attacker.give(BLOB_CONTRIBUTOR, OFFICER, kind="User") == refused
    for scope in (FOREIGN, ROOT, MACHINE):
        assert attacker.give(READER, attacker.machine, scope=scope) == refused, "out of the group"
    assert attacker.give(BLOB_CONTRIBUTOR, attacker.machine, scope=ACCOUNT) == "done"
    # The lab has no such person; the rights are asked first.
    assert attacker.give(BLOB_READER, OFFICER, scope=ACCOUNT, kind="User") == "400 PrincipalNotFound"


def test_the_everyday_work_goes_on(attacker: Attacker) -> None:
    assert attacker.ask("POST", f"{estate.VM}/runCommand", COMMAND) == "done"
    identity = {"type": "UserAssigned", "userAssignedIdentities": {estate.IDENTITY: {}}}
    assert attacker.ask("PUT", estate.VM, estate.machine(identity=identity)) == "done"
    assert attacker.ask("GET", POLICY) == "done"
    assert attacker.ask("PUT", f"{estate.IDENTITY}-3", estate.WHERE) == "done"
    answer = attacker.live.arm("PUT", f"{NETWORK}/subnets/more", estate.subnet("127.8.9.0/24"), token=attacker.token)
    operation = answer.headers["Azure-AsyncOperation"].removeprefix("https://management.azure.com").split("?")[0]
    assert attacker.ask("GET", operation) == "done", "Reader of the subscription reads operations"
