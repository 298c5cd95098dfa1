"""A vault whose roles come into force at one of its servers after the other: it refuses again what it has answered.

The refusals are Key Vault's (learn.microsoft.com, "Azure Key Vault REST API error codes"); that a role may take minutes
is in "Troubleshoot Azure RBAC".
"""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from azure.core.exceptions import ServiceRequestError
from azure.keyvault.secrets import KeyVaultSecret, SecretClient

from clouds.azure import api
from clouds.azure.api import KeyVault
from clouds.azure.errors import AzureError
from clouds.azure.roles import SECRETS_OFFICER
from components.control_plane.secrets import SharedSecretProvider, VaultAccessProvider
from lab.cloud.azure.vault_bodies import KeyVaultError
from lab.cloud.azure.vault_data import VaultData
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import Live
from tests.lab.cloud.test_identity import assign
from tests.lab.cloud.test_vault import LOOPBACK, URL, operator

ACCESS = {"vault_url": URL}
SECRET = {"vault_url": URL, "secret": "a", "kind": "encryption-keys"}


def no_role() -> KeyVaultError:
    return KeyVaultError(403, "Forbidden", "Caller is not authorized to perform action", inner="ForbiddenByRbac")


def not_signed_in() -> KeyVaultError:
    return KeyVaultError(401, "Unauthorized", "AKV10032: Invalid issuer.")


def not_through() -> KeyVaultError:
    return KeyVaultError(403, "Forbidden", "Client address is not authorized", inner="ForbiddenByFirewall")


class Servers:
    """The vault's servers, each of which answers in its turn: None as usual, or with its refusal."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.turns: list[KeyVaultError | None] = []
        usual = VaultData._route

        async def route(data: VaultData, request: web.Request, *more: Any) -> web.Response:
            refusal = self.turns.pop(0) if self.turns else None
            if refusal is not None:
                raise refusal
            return await usual(data, request, *more)

        patch.setattr(VaultData, "_route", route)


@pytest.fixture(name="servers")
def _servers(live: Live, monkeypatch: pytest.MonkeyPatch) -> Servers:
    estate.build(live, with_machine=False)
    live.put(estate.VAULT, estate.vault(live, **LOOPBACK))
    assign(live, scope=estate.VAULT, role=SECRETS_OFFICER, principal=operator(live))
    monkeypatch.setattr(api, "BUSY_S", 0.0)
    return Servers(monkeypatch)


@pytest.mark.parametrize("refusal", [no_role, not_signed_in])
def test_a_refusal_after_a_first_success_is_waited_for(servers: Servers, refusal: Any) -> None:
    servers.turns = [refusal(), None]
    VaultAccessProvider().create(ACCESS)
    assert servers.turns == []
    servers.turns = [refusal(), refusal(), None, refusal(), None]
    SharedSecretProvider().create(SECRET)
    assert servers.turns == []
    servers.turns = [refusal()]
    assert KeyVault(URL).get("a")
    servers.turns = [refusal()]
    KeyVault(URL).delete("a")
    assert KeyVault(URL).get("a") is None


@pytest.mark.parametrize("refusal", [no_role, not_signed_in])
def test_who_was_given_no_role_just_now_is_told_at_once(servers: Servers, refusal: Any) -> None:
    servers.turns = [refusal(), None]
    with pytest.raises(AzureError, match=r"the secret a of .*: (ForbiddenByRbac|Unauthorized)"):
        KeyVault(URL).get("a")
    assert servers.turns == [None]


@pytest.mark.usefixtures("servers")
def test_a_vault_that_nobody_knows_yet_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known, unknown = SecretClient.get_secret, [ServiceRequestError("Name or service not known")] * 2

    def get_secret(self: SecretClient, name: str, version: str | None = None, **more: Any) -> KeyVaultSecret:
        if unknown:
            raise unknown.pop()
        return known(self, name, version, **more)

    monkeypatch.setattr(SecretClient, "get_secret", get_secret)
    VaultAccessProvider().create(ACCESS)
    assert unknown == []
    unknown.append(ServiceRequestError("Name or service not known"))
    with pytest.raises(AzureError, match="no answer"):
        KeyVault(URL).get("a")


def test_the_wait_has_an_end(servers: Servers) -> None:
    servers.turns = [no_role()]
    with pytest.raises(AzureError, match="ForbiddenByRbac"):
        KeyVault(URL).await_access(0.0)


def test_the_firewalls_refusal_is_final(servers: Servers) -> None:
    servers.turns = [not_through(), None]
    with pytest.raises(AzureError, match="ForbiddenByFirewall"):
        KeyVault(URL).await_access(60.0)
    assert servers.turns == [None]


def test_wrong_credentials_are_final(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "wrong")
    with pytest.raises(AzureError, match="no Azure credential works"):
        KeyVault(URL).await_access(60.0)
