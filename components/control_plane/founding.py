"""Bootstrap of an etcd cluster, once in its life: the record that it has happened.

Without the record, the first members may bootstrap the etcd cluster. Nothing can use the etcd cluster before the record
exists, because the API servers' credential for the cluster is made later. Once the record exists, a member with an
empty disk joins the etcd cluster and never bootstraps another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider

from clouds.base.control import Vault
from clouds.registry import vault_at
from contract.documents import etcd_state
from contract.documents.etcd_state import EXISTING, NEW, RecordedCluster

Properties = dict[str, Any]


class FoundedProvider(ResourceProvider):
    """Writes the record."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Record that the etcd cluster exists."""
        record_bootstrap(vault_at(props["vault_url"]), props["secret"], cluster=str(props.get("cluster") or ""))
        return CreateResult(id_=props["secret"], outs=props)

    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        """Report no changes: a bootstrap cannot be undone."""
        return DiffResult(changes=False, replaces=[])


def is_bootstrapped(state: str | None) -> bool:
    """Return whether the recorded state says that the etcd cluster exists. A state that is missing or cannot be read
    counts as existing."""
    try:
        return state is None or etcd_state.of_text(state).state != NEW
    except (AttributeError, TypeError, ValueError):
        return True


def record_bootstrap(vault: Vault, secret: str, *, cluster: str) -> None:
    """Record that an etcd cluster exists: from now on a member with an empty disk joins it and never bootstraps
    another."""
    recorded = vault.get(secret)
    if recorded is None or etcd_state.of_text(recorded).state != EXISTING:
        state = RecordedCluster(state=EXISTING, cluster=cluster)
        vault.set(secret, state.to_text(), content_type="application/json")


class Bootstrapped(Resource, module="longhaul", name="Founded"):
    """Resource that exists once all first members of an etcd cluster have been ready and the vault records its
    bootstrap."""

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
        """``cluster``: the etcd cluster's id, as its first member reports it; ``members``: the readiness of all
        members."""
        properties = {"vault_url": vault_url, "secret": secret, "cluster": cluster}
        after = ResourceOptions(depends_on=list(members))
        super().__init__(FoundedProvider(), name, properties, ResourceOptions.merge(opts, after))
