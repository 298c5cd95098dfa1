"""Secrets that several machines share, made once in the vault and kept nowhere else."""

from __future__ import annotations

import base64
import json
import secrets
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider

from components import issuing
from components.azure.api import Vault
from components.model import SharedSecret
from components.model.vault import SecretKind

Properties = dict[str, Any]


def one_at_a_time(opts: ResourceOptions | None) -> ResourceOptions:
    """Options of a resource that is a name in the vault: its successor has the same name, so it goes first."""
    return ResourceOptions.merge(opts, ResourceOptions(delete_before_replace=True))


def first_value(kind: SecretKind) -> str:
    """What a shared secret of ``kind`` holds at first."""
    if kind is SecretKind.SIGNING_KEY:
        return issuing.new_key()
    if kind is SecretKind.ENCRYPTION_KEY:
        return base64.b64encode(secrets.token_bytes(32)).decode()
    return json.dumps({"state": "new", "cluster": ""})


class SharedSecretProvider(ResourceProvider):
    """A value that is in the vault already is kept: Secrets at rest and running tokens depend on it."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Write a first value unless there is one."""
        vault = Vault(props["vault_url"])
        if vault.get(props["secret"]) is None:
            vault.set(props["secret"], first_value(SecretKind(props["kind"])))
        return CreateResult(id_=props["secret"], outs=props)

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Another vault or name is another secret."""
        replaces = [name for name in ("vault_url", "secret", "kind") if olds.get(name) != news.get(name)]
        return DiffResult(changes=bool(replaces), replaces=replaces)

    def delete(self, _id: str, props: Properties) -> None:
        """Take it out of the vault, which keeps deleted secrets for its retention."""
        Vault(props["vault_url"]).delete(props["secret"])


class VaultSecret(Resource, module="longhaul", name="Secret"):
    """A shared secret; the state holds its name alone."""

    def __init__(
        self, name: str, *, secret: SharedSecret, vault_url: pulumi.Input[str], opts: ResourceOptions | None = None
    ) -> None:
        properties = {"vault_url": vault_url, "secret": secret.name, "kind": str(secret.kind)}
        super().__init__(SharedSecretProvider(), name, properties, one_at_a_time(opts))


class TunnelKeyProvider(ResourceProvider):
    """Makes pre-shared keys. Clouds take them as a property of the connection, so the engine has to know them: they are
    secret in its state, besides being in the vault for the other end."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Adopt the key in the vault or make one of 256 random bits."""
        vault = Vault(props["vault_url"])
        value = vault.get(props["secret"])
        if value is None:
            # Letters and digits only: Azure takes no hyphen in a key.
            value = secrets.token_hex(32)
            vault.set(props["secret"], value)
        return CreateResult(id_=props["secret"], outs={**props, "value": value})

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Another vault or name is another key."""
        replaces = [name for name in ("vault_url", "secret") if olds.get(name) != news.get(name)]
        return DiffResult(changes=bool(replaces), replaces=replaces)

    def delete(self, _id: str, props: Properties) -> None:
        """Take it out of the vault."""
        Vault(props["vault_url"]).delete(props["secret"])


class TunnelKey(Resource, module="longhaul", name="TunnelKey"):
    """The key of one tunnel."""

    value: pulumi.Output[str]
    """The key, secret."""

    def __init__(
        self, name: str, *, secret: str, vault_url: pulumi.Input[str], opts: ResourceOptions | None = None
    ) -> None:
        properties = {"vault_url": vault_url, "secret": secret, "value": None}
        merged = ResourceOptions.merge(one_at_a_time(opts), ResourceOptions(additional_secret_outputs=["value"]))
        super().__init__(TunnelKeyProvider(), name, properties, merged)
