"""Key vaults, with Azure's own library: secrets, roles, firewall, soft deletion."""

from __future__ import annotations

import logging
import uuid
from typing import Any

import pytest
import requests
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import EnvironmentCredential
from azure.keyvault.secrets import ApiVersion, KeyVaultSecret, SecretClient

from clouds.azure.api import KeyVault
from clouds.azure.errors import AzureError
from clouds.azure.roles import SECRETS_OFFICER, SECRETS_USER
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import GROUP, NETWORK, SUBSCRIPTION, Live, Source, resolve
from tests.lab.cloud.test_identity import assign, body

URL = "https://lh-lab-vault.vault.azure.net/"
LOOPBACK = {"ipRules": [{"value": "127.0.0.0/8"}]}


def client(source: str = "127.0.0.1", **options: object) -> SecretClient:
    session = requests.Session()
    session.mount("https://", Source(source))
    return SecretClient(
        URL, EnvironmentCredential(), transport=RequestsTransport(session=session, session_owner=False), **options
    )


def operator(live: Live) -> str:
    return live.cloud.operator_environment()["LAB_OPERATOR_OBJECT_ID"]


@pytest.fixture(name="vault")
def _vault(live: Live) -> Live:
    """A vault that admits loopback, with the operator as its secrets officer."""
    estate.build(live, with_machine=False)
    live.put(estate.VAULT, estate.vault(live, **LOOPBACK))
    assign(live, scope=estate.VAULT, role=SECRETS_OFFICER, principal=operator(live))
    return live


@pytest.mark.parametrize("version", [ApiVersion.V7_4, ApiVersion.V7_5, ApiVersion.V7_6])
def test_secrets_have_versions(vault: Live, version: ApiVersion) -> None:
    secrets = client(api_version=version)
    first = secrets.set_secret("ca-key", "one", content_type="text/plain", tags={"holder": "api-0"})
    second = secrets.set_secret("ca-key", "two")
    assert secrets.get_secret("ca-key").value == "two"
    old = secrets.get_secret("ca-key", first.properties.version)
    assert (old.value, old.properties.content_type, old.properties.tags) == ("one", "text/plain", {"holder": "api-0"})
    listed = list(secrets.list_properties_of_secret_versions("ca-key"))
    assert {one.version for one in listed} == {first.properties.version, second.properties.version}
    assert [one.name for one in secrets.list_properties_of_secrets()] == ["ca-key"]
    secrets.update_secret_properties("ca-key", enabled=False)
    with pytest.raises(HttpResponseError, match="disabled secret"):
        secrets.get_secret("ca-key")


def test_secrets_survive_a_restart_and_are_not_logged(vault: Live, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="lab"):
        client().set_secret("ca-key", "hunter2-hunter2")
        vault.stop()
        vault.start()
        assert client().get_secret("ca-key").value == "hunter2-hunter2"
    assert "PUT /secrets/ca-key -> 200" in caplog.text
    assert "hunter2" not in caplog.text
    assert (vault.state / "secrets.sqlite").stat().st_mode & 0o777 == 0o600
    assert (vault.state / "cloud.sqlite").stat().st_mode & 0o777 == 0o600


def test_deleted_secrets_can_be_recovered_or_purged(vault: Live) -> None:
    secrets = client()
    secrets.set_secret("a", "1")
    deleted = secrets.begin_delete_secret("a").result()
    assert deleted.recovery_id == f"{URL}deletedsecrets/a"
    with pytest.raises(ResourceNotFoundError):
        secrets.get_secret("a")
    with pytest.raises(ResourceExistsError, match="recoverable"):
        secrets.set_secret("a", "2")
    assert [one.name for one in secrets.list_deleted_secrets()] == ["a"]
    secrets.begin_recover_deleted_secret("a").wait()
    assert secrets.get_secret("a").value == "1"
    secrets.begin_delete_secret("a").wait()
    secrets.purge_deleted_secret("a")
    secrets.set_secret("a", "2")
    assert secrets.get_secret("a").value == "2"


def test_what_the_program_does_with_a_secret(vault: Live) -> None:
    secrets = KeyVault(URL)
    assert secrets.get("a") is None
    secrets.delete("a")
    secrets.set("a", "1", content_type="text/plain")
    secrets.delete("a")
    assert secrets.get("a") is None
    secrets.set("a", "2")
    assert secrets.get("a") == "2"
    assert [one.version for one in client().list_properties_of_secret_versions("a")][1:], "it was recovered"
    with pytest.raises(AzureError, match=f"the secret under_score of {URL[:-1]}: BadParameter: ") as refused:
        secrets.set("under_score", "x")
    assert (refused.value.status, refused.value.passing) == (400, False)


def test_a_secret_that_is_just_being_deleted_is_awaited(vault: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is Key Vault's for as long as a deletion is under way (learn.microsoft.com/azure/key-vault/general,
    "Azure Key Vault recovery management": the secret can be neither written nor recovered then)."""
    written, busy = SecretClient.set_secret, [ResourceExistsError("ObjectIsBeingDeleted")] * 2

    def set_secret(self: SecretClient, name: str, value: str, **more: Any) -> KeyVaultSecret:
        if busy:
            raise busy.pop()
        return written(self, name, value, **more)

    monkeypatch.setattr(SecretClient, "set_secret", set_secret)
    monkeypatch.setattr("clouds.azure.api.BUSY_S", 0.0)
    KeyVault(URL).set("a", "1")
    assert (KeyVault(URL).get("a"), busy) == ("1", [])


def test_what_the_program_is_told_of_a_refusal(live: Live) -> None:
    estate.build(live, with_machine=False)
    live.put(estate.VAULT, estate.vault(live, **LOOPBACK))
    with pytest.raises(AzureError, match=r"the secret a of .*: ForbiddenByRbac: Caller is not authorized") as refused:
        KeyVault(URL).get("a")
    assert (refused.value.status, refused.value.code, refused.value.answered) == (403, "ForbiddenByRbac", True)


def test_the_program_is_told_what_is_wrong_with_its_credentials(vault: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "wrong")
    with pytest.raises(AzureError, match=r"no Azure credential works: .* Sign in with `az login`") as refused:
        KeyVault(URL).get("a")
    assert (refused.value.status, refused.value.passing) == (401, False)


@pytest.mark.parametrize(("name", "value"), [("under_score", "x"), ("a", "x" * 25 * 1024 + "x")])
def test_bad_secrets_are_refused(vault: Live, name: str, value: str) -> None:
    with pytest.raises(HttpResponseError) as refused:
        client().set_secret(name, value)
    assert refused.value.status_code == 400


def test_owners_may_not_read_secrets(live: Live) -> None:
    """The role Owner of the subscription gives rights on the resource, not on its data."""
    estate.build(live, with_machine=False)
    live.put(estate.VAULT, estate.vault(live, **LOOPBACK))
    with pytest.raises(HttpResponseError) as refused:
        client().get_secret("a")
    assert refused.value.status_code == 403
    assert refused.value.error is not None
    assert refused.value.error.innererror == {"code": "ForbiddenByRbac"}


@pytest.mark.parametrize("scope", ["secret", estate.VAULT, GROUP, f"/subscriptions/{SUBSCRIPTION}"])
def test_roles_hold_at_every_scope_above(vault: Live, scope: str) -> None:
    client().set_secret("mine", "1")
    client().set_secret("other", "2")
    principal = vault.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
    assign(
        vault,
        scope=f"{estate.VAULT}/secrets/mine" if scope == "secret" else scope,
        role=SECRETS_USER,
        principal=principal,
    )
    token = vault.cloud._identity.token(object_id=principal, app_id="a", audience="https://vault.azure.net")
    assert raw("GET", "secrets/mine", token).json()["value"] == "1"
    assert raw("GET", "secrets/other", token).status_code == (403 if scope == "secret" else 200)
    assert raw("PUT", "secrets/mine", token, {"value": "3"}).status_code == 403


def test_a_right_on_a_secret_needs_the_secret_and_goes_with_the_vault(vault: Live) -> None:
    principal = vault.arm("GET", estate.IDENTITY).json()["properties"]["principalId"]
    scope = f"{estate.VAULT}/secrets/one"
    assignment = f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}"
    early = vault.arm("PUT", assignment, body(SECRETS_USER, principal))
    assert (early.status_code, early.json()["error"]["code"]) == (404, "ResourceNotFound")
    client().set_secret("one", "1")
    vault.put(assignment, body(SECRETS_USER, principal))
    assert vault.arm("DELETE", estate.VAULT).status_code == 200
    assert vault.arm("GET", assignment).status_code == 404


def raw(method: str, path: str, token: str, body: object = None, *, source: str = "127.0.0.1") -> requests.Response:
    session = requests.Session()
    session.mount("https://", Source(source))
    return session.request(
        method,
        f"{URL}{path}",
        params={"api-version": "7.4"},
        json=body,
        headers={"Authorization": f"Bearer {token}"},
        timeout=10,
    )


def test_without_a_token_the_vault_says_where_to_get_one(vault: Live) -> None:
    response = raw("GET", "secrets/a", "")
    assert response.status_code == 401
    assert 'resource="https://vault.azure.net"' in response.headers["WWW-Authenticate"]


def test_the_firewall(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers in named subnets are judged by their service endpoint, other subnets by their public address, the
    internet by the peer's address."""
    estate.build(live)
    live.put(f"{NETWORK}/subnets/plain", estate.subnet("127.8.1.0/24", natGateway={"id": estate.NAT}))
    live.put(
        f"{NETWORK}/subnets/other", estate.subnet("127.8.2.0/24", serviceEndpoints=[{"service": "Microsoft.KeyVault"}])
    )
    live.put(estate.VAULT, estate.vault(live, virtualNetworkRules=[{"id": estate.SUBNET}]))
    assign(live, scope=estate.VAULT, role=SECRETS_OFFICER, principal=operator(live))
    token = live.token("https://vault.azure.net")
    assert inner(raw("GET", "secrets", token)) == "ForbiddenByFirewall"
    resolve(live, "site", monkeypatch)
    assert raw("GET", "secrets", token, source="127.8.0.10").status_code == 200
    assert inner(raw("GET", "secrets", token, source="127.8.1.10")) == "ForbiddenByFirewall"
    assert inner(raw("GET", "secrets", token, source="127.8.2.10")) == "ForbiddenByFirewall"
    (egress,) = live.hypervisor.world.networks[0].subnets[0].egress
    live.put(
        estate.VAULT,
        estate.vault(live, ipRules=[{"value": f"{egress}/32"}], virtualNetworkRules=[{"id": estate.SUBNET}]),
    )
    assert raw("GET", "secrets", token, source="127.8.1.10").status_code == 200


def inner(response: requests.Response) -> str:
    return str(response.json()["error"]["innererror"]["code"])


def test_a_new_vault_needs_a_list_of_access_policies(built: Live) -> None:
    body = estate.vault(built)
    del body["properties"]["accessPolicies"]
    refused = built.arm("PUT", estate.VAULT, body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "BadRequest")
    built.put(estate.VAULT, estate.vault(built))
    built.put(estate.VAULT, body)


def test_a_rule_needs_the_service_endpoint(built: Live) -> None:
    built.put(f"{NETWORK}/subnets/plain", estate.subnet("127.8.9.0/24"))
    body = estate.vault(built, virtualNetworkRules=[{"id": f"{NETWORK}/subnets/plain"}])
    response = built.arm("PUT", f"{estate.VAULT}2", body)
    assert response.json()["error"]["code"] == "VnetSubnetMissingServiceEndpoint"


def test_a_deleted_vault_keeps_its_name_until_it_is_purged(vault: Live) -> None:
    client().set_secret("a", "1")
    assert vault.arm("DELETE", estate.VAULT).status_code == 200
    assert vault.arm("PUT", estate.VAULT, estate.vault(vault)).json()["error"]["code"] == "ConflictError"
    recover = estate.vault(vault, **LOOPBACK)
    recover["properties"]["createMode"] = "recover"
    vault.put(estate.VAULT, recover)
    assign(vault, scope=estate.VAULT, role=SECRETS_OFFICER, principal=operator(vault))
    assert client().get_secret("a").value == "1"
    vault.arm("DELETE", estate.VAULT)
    deleted = (
        f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/lh-lab-vault"
    )
    assert vault.arm("GET", deleted).json()["properties"]["vaultId"] == estate.VAULT
    assert vault.arm("POST", f"{deleted}/purge").status_code in (200, 204)
    assert vault.arm("GET", deleted).status_code == 404
    vault.put(estate.VAULT, estate.vault(vault, **LOOPBACK))
    assign(vault, scope=estate.VAULT, role=SECRETS_OFFICER, principal=operator(vault))
    with pytest.raises(ResourceNotFoundError):
        client().get_secret("a")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enableRbacAuthorization", False),
        ("tenantId", "00000000-0000-4000-8000-00000000000f"),
        ("accessPolicies", [{"objectId": "x"}]),
        ("publicNetworkAccess", "Disabled"),
    ],
)
def test_what_the_lab_does_not_honour_is_refused(built: Live, key: str, value: object) -> None:
    body = estate.vault(built)
    body["properties"][key] = value
    assert built.arm("PUT", f"{estate.VAULT}2", body).status_code == 400
