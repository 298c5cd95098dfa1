"""A store is founded once in its life: the note that it has been.

Until it is there, the store's first members may found it and nobody can use it, since the API servers' credential for
it is made after the note. From then on a member with an empty disk joins the store and never founds another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider

from clouds.azure.api import Vault

Properties = dict[str, Any]


class FoundedProvider(ResourceProvider):
    """Writes the note."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Note that the store exists."""
        record_founded(Vault(props["vault_url"]), props["secret"], cluster=str(props.get("cluster") or ""))
        return CreateResult(id_=props["secret"], outs=props)

    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        """What is founded stays so."""
        return DiffResult(changes=False, replaces=[])


def founded(state: str | None) -> bool:
    """Whether the store's state says that it exists; a state that cannot be read counts as existing."""
    try:
        return state is None or json.loads(state).get("state") != "new"
    except ValueError:
        return True


def record_founded(vault: Vault, secret: str, *, cluster: str) -> None:
    """Note that a store exists: from now on a member with an empty disk joins it and never founds another."""
    state = json.loads(vault.get(secret) or "{}")
    if state.get("state") != "existing":
        vault.set(secret, json.dumps({"state": "existing", "cluster": cluster}), content_type="application/json")


class Founded(Resource, module="longhaul", name="Founded"):
    """Is there once a store's first members were all ready, and the vault says so."""

    def __init__(
        self,
        name: str,
        *,
        vault_url: pulumi.Input[str],
        secret: str,
        cluster: pulumi.Input[str],
        members: Sequence[Resource],
        opts: ResourceOptions | None = None,
    ) -> None:
        """``cluster``: the store's id as its first member says it; ``members``: the readiness of all."""
        properties = {"vault_url": vault_url, "secret": secret, "cluster": cluster}
        after = ResourceOptions(depends_on=list(members))
        super().__init__(FoundedProvider(), name, properties, ResourceOptions.merge(opts, after))
