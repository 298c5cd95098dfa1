"""Tunnels' keys as a program of the engine: one that the vault has, and one that a cloud makes first. The vault is a
folder, and a connection of a cloud is nothing but its key."""

from __future__ import annotations

import os
from typing import Any

import pulumi
from pulumi import Output, ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

from components.control_plane import secrets
from components.control_plane.secrets import TunnelKey, TunnelKeyProvider
from components.environment import cluster
from components.environment.links import VaultTunnelKeys, trusted_keys, used_key
from tests.components.control_plane.folder_vault import VAULT, FolderVault, InFolder

OWN = "the-cloud-s-own"


class TunnelKeys(InFolder, TunnelKeyProvider):
    """Makes keys."""


class ConnectionProvider(ResourceProvider):
    """Has a key, its own where it is given none."""

    serialize_as_secret_always = False

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(id_="c", outs={**props, "has": props.get("key") or OWN})

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        return UpdateResult(outs={**news, "has": news.get("key") or OWN})

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return DiffResult(changes=(news.get("key") or OWN) != olds["has"], replaces=[])


class Connection(Resource, module="stand-in", name="Connection"):
    """A connection of a cloud."""

    has: Output[str]

    def __init__(self, name: str, *, key: pulumi.Input[str | None], opts: ResourceOptions | None = None) -> None:
        hidden = ResourceOptions(additional_secret_outputs=["has"])
        properties = {"key": key, "has": None}
        super().__init__(ConnectionProvider(), name, properties, ResourceOptions.merge(opts, hidden))


def main() -> None:
    """Declare a tunnel to a cloud that is given its key, one to a cloud that makes it, and one between two clouds."""
    secrets.vault_at, secrets.TunnelKeyProvider = FolderVault, TunnelKeys  # type: ignore[misc,assignment]
    url = os.environ[VAULT]
    held = TunnelKey("held", secret="tunnel-held", vault_url=url)
    keys = VaultTunnelKeys(text=held.value).beside()
    Connection("azure", key=used_key(keys))
    given = TunnelKey("given", secret="tunnel-given", vault_url=url, of_cloud=True)
    own = VaultTunnelKeys(text=cluster._or_none_yet(given.value), made=[given])
    aws = Connection(
        "aws", key=own.beside().apply(lambda one: one.used or None), opts=ResourceOptions(depends_on=[given])
    )
    known = own.beside(aws.has)
    Connection("between", key=used_key(known))
    pulumi.export("held", Output.all(used_key(keys), trusted_keys(keys)))
    pulumi.export("given", Output.all(used_key(known), trusted_keys(known)))
