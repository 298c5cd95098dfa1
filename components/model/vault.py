"""What the vault holds besides certificates, and what it is called."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.machines import Machine, Role


class SecretKind(StrEnum):
    """How a shared secret's first value is made."""

    SIGNING_KEY = "signing-key"
    """An ECDSA P-256 key pair, PEM (PKCS#8): signs service account tokens."""
    ENCRYPTION_KEY = "encryption-key"
    """32 random bytes, base64: encrypts Secrets at rest."""
    STORE_STATE = "store-state"
    """``new`` until a store's first member was healthy, then ``existing``: whether an empty member may found a
    cluster."""


@dataclass(frozen=True, kw_only=True)
class SharedSecret:
    """A secret that several machines hold."""

    name: str
    kind: SecretKind
    holders: tuple[str, ...]
    """Names of the machines that may read it."""


def shared_secrets(machines: tuple[Machine, ...]) -> tuple[SharedSecret, ...]:
    """Every secret that is not a certificate."""
    by_role = {role: tuple(m.name for m in machines if m.role is role) for role in Role}
    return (
        SharedSecret(name="service-account", kind=SecretKind.SIGNING_KEY, holders=by_role[Role.API]),
        SharedSecret(name="encryption", kind=SecretKind.ENCRYPTION_KEY, holders=by_role[Role.API]),
        *(
            SharedSecret(name=store_state_secret(role), kind=SecretKind.STORE_STATE, holders=by_role[role])
            for role in (Role.ETCD, Role.EVENTS)
        ),
    )


def store_state_secret(role: Role) -> str:
    """Name of the secret that says whether a store was ever founded."""
    return f"{role}-state"


def vault_url(environment: Environment) -> str:
    """Address of the environment's vault."""
    return f"https://{vault_name(environment)}.vault.azure.net"


def vault_name(environment: Environment) -> str:
    """The vault's name: vault names are global in Azure, 3 to 24 letters, digits and hyphens, so it carries a digest of
    the subscription and the environment's name, and begins with the prefix of names or ``lh``."""
    site = environment.sites[environment.control_plane.site]
    scope = cloud_of(site).machine_identity.scope(site)
    digest = hashlib.sha256(f"{scope}/{environment.name}".encode()).hexdigest()[:8]
    head = environment.naming.prefix or "lh"
    return f"{head}-{environment.name[: 14 - len(head)].rstrip('-')}-{digest}"
