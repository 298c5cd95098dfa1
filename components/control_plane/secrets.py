"""Secrets of the vault that are made once: those that several machines share and that exist nowhere else, and keys of
tunnels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pulumi
from pulumi import ResourceOptions
from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult
from pulumi.runtime.rpc import UNKNOWN

from clouds.registry import vault_at
from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from components.model import SharedSecret
from components.model.network.tunnel_keys import READ_VARIABLE
from components.model.secrets.encryption_keys import EncryptionKeys
from components.model.secrets.rotations import progress_text
from components.model.secrets.vault import SecretKind
from contract.documents.etcd_state import NEW, RecordedCluster
from contract.documents.quarantine import Quarantine
from contract.documents.revoked import Revoked

Properties = dict[str, Any]


def one_at_a_time(opts: ResourceOptions | None) -> ResourceOptions:
    """Return the options of a resource that is an entry in the vault: its replacement has the same name, so the old
    entry is deleted first."""
    return ResourceOptions.merge(opts, ResourceOptions(delete_before_replace=True))


DOCUMENTS = (SecretKind.ENCRYPTION_KEYS, SecretKind.SIGNING_KEYS, SecretKind.QUARANTINE, SecretKind.REVOKED)
"""Kinds whose values are marked as JSON."""


def first_value(kind: SecretKind, *, holders: Sequence[str] = ()) -> str:
    """Return the first value of a shared secret of ``kind``. For the state of an etcd cluster, ``holders`` are the
    members that bootstrap it."""
    if kind is SecretKind.ENCRYPTION_KEYS:
        return EncryptionKeys.first(issuing.new_encryption_key()).text()
    if kind is SecretKind.SIGNING_KEYS:
        return SigningKeys.alone(issuing.new_key()).text()
    if kind is SecretKind.VPN_KEY:
        return issuing.new_static_key()
    if kind is SecretKind.ROTATIONS:
        return progress_text({})
    if kind is SecretKind.QUARANTINE:
        return Quarantine().text()
    if kind is SecretKind.REVOKED:
        return Revoked().text()
    return RecordedCluster(state=NEW, founders=tuple(holders)).to_text()


def changed(names: Iterable[str], olds: Properties, news: Properties) -> list[str]:
    """Return the names of inputs that differ. An input that a preview does not know yet counts as unchanged: otherwise
    a change of a resource before this one would replace, and so lose, the secret in the vault."""
    return [name for name in names if news.get(name) != UNKNOWN and olds.get(name) != news.get(name)]


ACCESS_DEADLINE_S = 900.0
"""Largest time for which a new vault may refuse its officers, seconds: role assignments take up to ten minutes to come
into force (learn.microsoft.com, "Troubleshoot Azure RBAC")."""


class VaultAccessProvider(ResourceProvider):
    """Waits until the vault answers and its roles are in force. A refusal by its firewall is final."""

    serialize_as_secret_always = False

    def create(self, props: Properties) -> CreateResult:
        """Wait until the vault grants access, at most :data:`ACCESS_DEADLINE_S`."""
        vault_at(props["vault_url"]).await_access(ACCESS_DEADLINE_S)
        return CreateResult(id_=props["vault_url"], outs=props)

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Report another vault as a replacement."""
        replaces = changed(("vault_url",), olds, news)
        return DiffResult(changes=bool(replaces), replaces=replaces)


class VaultAccess(Resource, module="longhaul", name="VaultAccess"):
    """Resource that exists once the operator may write to the vault."""

    def __init__(self, name: str, *, vault_url: str, opts: ResourceOptions | None = None) -> None:
        super().__init__(VaultAccessProvider(), name, {"vault_url": vault_url}, opts)


class VaultEntryProvider(ResourceProvider):
    """Base of providers for one entry in the vault. Another name or vault is another entry. The entry is deleted with
    its resource."""

    serialize_as_secret_always = False
    identity: tuple[str, ...] = ("vault_url", "secret")

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Report another vault or name as a replacement."""
        replaces = changed(self.identity, olds, news)
        return DiffResult(changes=bool(replaces), replaces=replaces)

    def delete(self, _id: str, props: Properties) -> None:
        """Delete the entry from the vault, which keeps deleted secrets for its retention period."""
        vault_at(props["vault_url"]).delete(props["secret"])


class SharedSecretProvider(VaultEntryProvider):
    """Makes shared secrets. A value that the vault already has is kept, because encrypted Secrets and valid tokens
    depend on it."""

    identity = ("vault_url", "secret", "kind")

    def create(self, props: Properties) -> CreateResult:
        """Write a first value unless there is one."""
        vault, kind = vault_at(props["vault_url"]), SecretKind(props["kind"])
        if vault.get(props["secret"]) is None:
            value = first_value(kind, holders=props.get("holders", ()))
            vault.set(props["secret"], value, content_type="application/json" if kind in DOCUMENTS else "")
        return CreateResult(id_=props["secret"], outs=props)


class VaultSecret(Resource, module="longhaul", name="Secret"):
    """A shared secret; the state holds only its name."""

    def __init__(
        self, name: str, *, secret: SharedSecret, vault_url: pulumi.Input[str], opts: ResourceOptions | None = None
    ) -> None:
        properties = {
            "vault_url": vault_url,
            "secret": secret.name,
            "kind": str(secret.kind),
            "holders": list(secret.holders),
        }
        super().__init__(SharedSecretProvider(), name, properties, one_at_a_time(opts))


class TunnelKeyProvider(VaultEntryProvider):
    """Makes pre-shared keys, which the engine must know because resources have them as properties. A key is in the
    vault, and in the state as a secret. ``longhaul rotate`` changes the keys in the vault, and has the program read
    them again, one tunnel at a time; otherwise a key stays as the state has it."""

    def create(self, props: Properties) -> CreateResult:
        """Adopt the keys in the vault. If there are none, make a key, unless a cloud makes its own."""
        vault = vault_at(props["vault_url"])
        text = vault.get(props["secret"]) or ""
        if not text and not props.get("of_cloud"):
            text = issuing.new_tunnel_key()
            vault.set(props["secret"], text)
        return CreateResult(id_=props["secret"], outs={**props, "value": text})

    def diff(self, id_: str, olds: Properties, news: Properties) -> DiffResult:
        """Also report changed keys in the vault as an update, if a rotation has set ``READ_VARIABLE``."""
        difference = super().diff(id_, olds, news)
        if difference.replaces or not os.environ.get(READ_VARIABLE):
            return difference
        return DiffResult(changes=olds["value"] != _in_vault(news), replaces=[])

    def update(self, _id: str, _olds: Properties, news: Properties) -> UpdateResult:
        """Read the keys again."""
        return UpdateResult(outs={**news, "value": _in_vault(news)})


def _in_vault(props: Properties) -> str:
    return vault_at(props["vault_url"]).get(props["secret"]) or ""


class TunnelKey(Resource, module="longhaul", name="TunnelKey"):
    """The keys of one tunnel."""

    value: pulumi.Output[str]
    """The keys as the vault has them (components/model/network/tunnel_keys.py), secret; empty while a key that a cloud
    made itself is in use."""

    def __init__(
        self,
        name: str,
        *,
        secret: str,
        vault_url: pulumi.Input[str],
        of_cloud: bool = False,
        opts: ResourceOptions | None = None,
    ) -> None:
        """``of_cloud``: a cloud makes the first key, at one end of the tunnel."""
        properties = {
            "vault_url": vault_url,
            "secret": secret,
            "value": None,
            # The property is left out when false: one more property would be a change in every environment.
            **({"of_cloud": True} if of_cloud else {}),
        }
        hidden = ResourceOptions(additional_secret_outputs=["value"])
        super().__init__(TunnelKeyProvider(), name, properties, ResourceOptions.merge(one_at_a_time(opts), hidden))


class VaultSettingProvider(VaultEntryProvider):
    """Writes a text of the program into the vault, for machines that trust the vault's content."""

    def create(self, props: Properties) -> CreateResult:
        """Write the text into the vault."""
        vault_at(props["vault_url"]).set(props["secret"], props["value"])
        return CreateResult(id_=props["secret"], outs=props)

    def update(self, _id: str, _olds: Properties, news: Properties) -> UpdateResult:
        """Write a new version."""
        vault_at(news["vault_url"]).set(news["secret"], news["value"])
        return UpdateResult(outs=news)

    def diff(self, _id: str, olds: Properties, news: Properties) -> DiffResult:
        """Report another vault or name as a replacement, and another text as an update."""
        replaces = changed(self.identity, olds, news)
        return DiffResult(changes=bool(replaces or changed(("value",), olds, news)), replaces=replaces)


class VaultSetting(Resource, module="longhaul", name="Setting"):
    """Text in the vault that is not confidential, and that nobody but officers may write."""

    def __init__(
        self, name: str, *, secret: str, value: pulumi.Input[str], vault_url: str, opts: ResourceOptions | None = None
    ) -> None:
        properties = {"vault_url": vault_url, "secret": secret, "value": value}
        super().__init__(VaultSettingProvider(), name, properties, one_at_a_time(opts))
