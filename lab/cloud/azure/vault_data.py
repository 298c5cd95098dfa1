"""Secrets of key vaults, ``*.vault.azure.net``.

Paths, bodies and errors are from learn.microsoft.com/rest/api/keyvault/secrets. Tests send the calls of
azure-keyvault-secrets.
"""

from __future__ import annotations

import logging
import re
import uuid
from typing import Any

from aiohttp import web

from contract.azure import SIGN_IN_HOST, VAULT
from lab.cloud.azure import firewall
from lab.cloud.azure.access import Principal, roles_at
from lab.cloud.azure.conditions import Operation
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.identity import TokenEndpoints, TokenError
from lab.cloud.azure.schema import vault as vaults
from lab.cloud.azure.secrets import SecretStore, SecretVersion
from lab.cloud.azure.vault_bodies import KeyVaultError, SetSecret, UpdateSecret, json_of, parse, unknown
from lab.cloud.store import DocumentStore, ResourceDocument

log = logging.getLogger(__name__)

SUFFIX = ".vault.azure.net"
VALUE_LIMIT = 25 * 1024
"""Largest size of a secret's value in bytes (learn.microsoft.com/azure/key-vault/secrets/about-secrets, a "maximum size
of 25k bytes")."""
API_VERSIONS = frozenset({"7.4", "7.5", "7.6", "2025-07-01", "2026-04-01"})
"""API versions of azure-keyvault-secrets 4.12, from 7.4 on. Secrets are the same in all of these versions."""
NAME = re.compile(r"[0-9a-zA-Z-]{1,127}")


class VaultData:
    """Answers requests to all vaults."""

    def __init__(self, *, store: DocumentStore, secrets: SecretStore, identity: TokenEndpoints) -> None:
        self._store = store
        self._secrets = secrets
        self._identity = identity

    async def handle(self, request: web.Request, name: str, peer: firewall.FirewallClient) -> web.StreamResponse:
        """Answer one request to the vault ``name`` from ``peer``."""
        try:
            response = await self._answer(request, name, peer)
        except TokenError:
            response = self._challenge()
        except KeyVaultError as error:
            response = web.json_response(error.document, status=error.status)
        except ArmError as error:
            response = web.json_response(error.document(), status=error.status)
        response.headers["x-ms-request-id"] = str(uuid.uuid4())
        log.info("vault %s: %s %s -> %s", name, request.method, request.path, response.status)
        return response

    async def _answer(self, request: web.Request, name: str, peer: firewall.FirewallClient) -> web.Response:
        principal = self._identity.verify(request.headers.get("Authorization"), audiences=(VAULT,))
        vault = vaults.find(self._store, name)
        self._forget_purged(name)
        if vault is None:
            raise KeyVaultError(
                404, "VaultNotFound", f"There is no vault '{name}'. In Azure its name would not even resolve."
            )
        if request.query.get("api-version") not in API_VERSIONS:
            given = request.query.get("api-version")
            raise KeyVaultError(
                400, "BadParameter", f"The lab knows the API versions {', '.join(sorted(API_VERSIONS))}, not '{given}'."
            )
        refused = firewall.refusal(self._store, vault, peer)
        if refused:
            raise KeyVaultError(403, "Forbidden", refused, inner="ForbiddenByFirewall")
        return await self._route(request, vault, principal)

    async def _route(self, request: web.Request, vault: ResourceDocument, principal: Principal) -> web.Response:
        parts = [part for part in request.path.split("/") if part]
        kind = parts[0] if parts else ""
        name = parts[1] if len(parts) > 1 else ""
        if name and not NAME.fullmatch(name):
            raise KeyVaultError(400, "BadParameter", f"The request URI contains an invalid name: {name}")
        if kind == "secrets":
            return await self._secret(request, vault, principal, name, parts[2] if len(parts) > 2 else "")
        if kind == "deletedsecrets":
            return self._deleted_secret(request, vault, principal, name, parts[2] if len(parts) > 2 else "")
        raise unknown(request)

    async def _secret(
        self, request: web.Request, vault: ResourceDocument, principal: Principal, name: str, version: str
    ) -> web.Response:
        method = request.method
        if method == "GET" and not name:
            return self._list(vault, principal, deleted=False)
        if method == "GET" and version == "versions":
            return self._list_versions(vault, principal, name)
        if method == "GET":
            return self._get(vault, principal, name, version)
        if method == "PUT" and name and not version:
            return self._set(vault, principal, name, await json_of(request))
        if method == "PATCH" and name:
            return self._update(vault, principal, name, version, await json_of(request))
        if method == "DELETE" and name and not version:
            return self._delete(vault, principal, name)
        raise unknown(request)

    def _deleted_secret(
        self, request: web.Request, vault: ResourceDocument, principal: Principal, name: str, action: str
    ) -> web.Response:
        call = (request.method, bool(name), action)
        if call == ("GET", False, ""):
            return self._list(vault, principal, deleted=True)
        if call == ("GET", True, ""):
            self._require(vault, principal, "readMetadata/action", name)
            return web.json_response(self._deleted(vault, name))
        if call == ("DELETE", True, ""):
            return self._purge(vault, principal, name)
        if call == ("POST", True, "recover"):
            return self._recover(vault, principal, name)
        raise unknown(request)

    def _get(self, vault: ResourceDocument, principal: Principal, name: str, version: str) -> web.Response:
        self._require(vault, principal, "getSecret/action", name)
        document = self._version(vault, name, version)
        if not document.attributes.get("enabled", True):
            message = "Operation get is not allowed on a disabled secret."
            raise KeyVaultError(403, "Forbidden", message, inner="SecretDisabled")
        return web.json_response({"value": document.value, **_bundle(vault, document)})

    def _set(self, vault: ResourceDocument, principal: Principal, name: str, body: Any) -> web.Response:
        self._require(vault, principal, "setSecret/action", name)
        parsed = parse(SetSecret, body)
        if len(parsed.value.encode()) > VALUE_LIMIT:
            raise KeyVaultError(400, "BadParameter", f"The value of secret {name} exceeds {VALUE_LIMIT} bytes.")
        if self._secrets.deleted_at(vault=vault.name, name=name) is not None:
            raise KeyVaultError(
                409,
                "Conflict",
                f"Secret {name} is currently in a deleted but recoverable state, and its name cannot be reused; in "
                "this state, the "
                "secret can only be recovered or purged.",
                inner="ObjectIsDeletedButRecoverable",
            )
        version = self._secrets.add(
            vault=vault.name,
            name=name,
            value=parsed.value,
            content_type=parsed.content_type,
            tags=parsed.tags,
            attributes=parsed.attributes.model_dump(exclude_none=True),
        )
        return web.json_response({"value": version.value, **_bundle(vault, version)})

    def _update(
        self, vault: ResourceDocument, principal: Principal, name: str, version: str, body: Any
    ) -> web.Response:
        self._require(vault, principal, "setSecret/action", name)
        parsed, document = parse(UpdateSecret, body), self._version(vault, name, version)
        self._secrets.update(
            document,
            content_type=parsed.content_type if parsed.content_type is not None else document.content_type,
            tags=parsed.tags if parsed.tags is not None else document.tags,
            attributes={**document.attributes, **parsed.attributes.model_dump(exclude_none=True)},
        )
        return web.json_response(_bundle(vault, self._version(vault, name, document.version)))

    def _delete(self, vault: ResourceDocument, principal: Principal, name: str) -> web.Response:
        self._require(vault, principal, "delete", name)
        self._version(vault, name, "")
        self._secrets.delete(vault=vault.name, name=name)
        return web.json_response(self._deleted(vault, name))

    def _purge(self, vault: ResourceDocument, principal: Principal, name: str) -> web.Response:
        self._require(vault, principal, "purge/action", name)
        self._deleted(vault, name)
        if vault.body["properties"].get("enablePurgeProtection"):
            message = f'Operation "purge" is not allowed on this vault: {vault.name} has purge protection.'
            raise KeyVaultError(403, "Forbidden", message, inner="ForbiddenByPolicy")
        self._secrets.purge(vault=vault.name, name=name)
        return web.Response(status=204)

    def _recover(self, vault: ResourceDocument, principal: Principal, name: str) -> web.Response:
        self._require(vault, principal, "recover/action", name)
        self._deleted(vault, name)
        self._secrets.recover(vault=vault.name, name=name)
        return web.json_response(_bundle(vault, self._version(vault, name, "")))

    def _list(self, vault: ResourceDocument, principal: Principal, *, deleted: bool) -> web.Response:
        self._require(vault, principal, "readMetadata/action", "")
        items: list[dict[str, Any]] = []
        for name in self._secrets.names(vault=vault.name, deleted=deleted):
            if deleted:
                items.append(self._deleted(vault, name))
            else:
                current = self._secrets.versions(vault=vault.name, name=name)[0]
                items.append({**_bundle(vault, current), "id": f"{_base(vault)}/secrets/{name}"})
        return web.json_response({"value": items, "nextLink": None})

    def _list_versions(self, vault: ResourceDocument, principal: Principal, name: str) -> web.Response:
        self._require(vault, principal, "readMetadata/action", name)
        live = self._secrets.deleted_at(vault=vault.name, name=name) is None
        versions = self._secrets.versions(vault=vault.name, name=name) if live else []
        return web.json_response({"value": [_bundle(vault, version) for version in versions], "nextLink": None})

    def _version(self, vault: ResourceDocument, name: str, version: str) -> SecretVersion:
        if self._secrets.deleted_at(vault=vault.name, name=name) is None:
            for candidate in self._secrets.versions(vault=vault.name, name=name):
                if not version or candidate.version == version.lower():
                    return candidate
        raise KeyVaultError(
            404,
            "SecretNotFound",
            f"A secret with (name/id) {name}{'/' + version if version else ''} was not found in this key vault. If "
            "you recently "
            "deleted this secret you may be able to recover it using the correct recovery command. For help "
            "resolving this issue, "
            "please see https://go.microsoft.com/fwlink/?linkid=2125182",
        )

    def _deleted(self, vault: ResourceDocument, name: str) -> dict[str, Any]:
        at = self._secrets.deleted_at(vault=vault.name, name=name)
        if at is None:
            raise KeyVaultError(404, "SecretNotFound", f"Deleted Secret not found: {name}")
        days = vault.body["properties"]["softDeleteRetentionInDays"]
        newest = self._secrets.versions(vault=vault.name, name=name)[0]
        recovery = {
            "recoveryId": f"{_base(vault)}/deletedsecrets/{name}",
            "deletedDate": at,
            "scheduledPurgeDate": at + days * 86400,
        }
        return {**_bundle(vault, newest), **recovery}

    def _require(self, vault: ResourceDocument, principal: Principal, action: str, name: str) -> None:
        scope = f"{vault.id}/secrets/{name}" if name else vault.id
        full = f"Microsoft.KeyVault/vaults/secrets/{action}"
        roles = roles_at(self._store, principal_id=principal.object_id, scope=scope)
        if any(role.allows_data(Operation(action=full)) for role in roles):
            return
        raise KeyVaultError(
            403,
            "Forbidden",
            "Caller is not authorized to perform action on resource.\r\nIf role assignments, deny assignments or "
            "role definitions "
            "were changed recently, please observe propagation time.\r\n"
            f"Caller: appid={principal.app_id};oid={principal.object_id};iss=https://sts.windows.net/{principal.tenant}/\r\n"
            f"Action: '{full}'\r\nResource: '{scope.lower()}'\r\nAssignment: (not found)\r\nDenyAssignmentId: null\r\n"
            f"DecisionReason: 'DeniedWithNoValidRBAC' \r\nVault: {vault.name};location={vault.body['location']}\r\n",
            inner="ForbiddenByRbac",
        )

    def _forget_purged(self, name: str) -> None:
        """Remove the secrets of a purged vault, so that a new vault of the same name starts without secrets."""
        if self._store.record("purged-vault", name.lower()):
            self._secrets.purge(vault=name)
            self._store.set_record("purged-vault", name.lower(), None)

    def _challenge(self) -> web.Response:
        value = f'Bearer authorization="https://{SIGN_IN_HOST}/{self._identity.tenant}", resource="{VAULT}"'
        message = "AKV10000: Request is missing a Bearer or PoP token."
        return web.json_response(
            {"error": {"code": "Unauthorized", "message": message}}, status=401, headers={"WWW-Authenticate": value}
        )


def _base(vault: ResourceDocument) -> str:
    return f"https://{vault.name.lower()}{SUFFIX}"


def _bundle(vault: ResourceDocument, version: SecretVersion) -> dict[str, Any]:
    properties = vault.body["properties"]
    level = "Recoverable" if properties.get("enablePurgeProtection") else "Recoverable+Purgeable"
    bundle: dict[str, Any] = {
        "id": f"{_base(vault)}/secrets/{version.name}/{version.version}",
        "attributes": {
            **version.attributes,
            "created": version.created,
            "recoveryLevel": level,
            "recoverableDays": properties["softDeleteRetentionInDays"],
        },
    }
    if version.tags is not None:
        bundle["tags"] = version.tags
    if version.content_type is not None:
        bundle["contentType"] = version.content_type
    return bundle
