"""Secrets of the vault besides certificates, and the vault's name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.machines import Machine, Role, members


class SecretKind(StrEnum):
    """Kind of a shared secret, which decides its first value."""

    SIGNING_KEY = "signing-key"
    """An ECDSA P-256 key pair, PEM (PKCS#8): signs service account tokens."""
    ENCRYPTION_KEY = "encryption-key"
    """32 random bytes, base64: the key that encrypts Secrets at rest first."""
    ENCRYPTION_KEYS = "encryption-keys"
    """The keys that encrypt Secrets at rest now (``rotation.py``): at first the one of :data:`FIRST_KEY`."""
    QUARANTINE = "quarantine"
    """The machines in quarantine (``quarantine.py``): at first none."""
    ETCD_STATE = "store-state"
    """State of an etcd cluster: ``new`` until its first members were ready, then ``existing``. It decides whether a
    member without data may bootstrap the etcd cluster."""


FIRST_KEY = "encryption"
"""Name of the secret with the first encryption key. It stays after a rotation, for backups from before."""

KEYS_IN_USE = "encryption-keys"
"""Name of the secret with the encryption keys that API servers hold. Only ``longhaul rotate`` changes it."""

RETIRED_KEYS = "encryption-retired"
"""Name of the secret with former encryption keys, which no machine may read: backups need them. ``longhaul rotate``
makes it."""


QUARANTINE = "quarantine"
"""Name of the secret with the machines in quarantine, which API servers refuse. Only ``longhaul machine`` changes
it."""


@dataclass(frozen=True, kw_only=True)
class SharedSecret:
    """A secret that several machines hold."""

    name: str
    kind: SecretKind
    holders: tuple[str, ...]
    """Names of the machines that hold it; of an etcd cluster's state, those that bootstrap it, so not the learner."""


def shared_secrets(machines: tuple[Machine, ...]) -> tuple[SharedSecret, ...]:
    """Return every shared secret: those of the API servers, and one for the state of each etcd cluster."""
    by_role = {role: tuple(m.name for m in members(machines, role)) for role in Role}
    return (
        SharedSecret(name="service-account", kind=SecretKind.SIGNING_KEY, holders=by_role[Role.API]),
        SharedSecret(name=FIRST_KEY, kind=SecretKind.ENCRYPTION_KEY, holders=()),
        SharedSecret(name=KEYS_IN_USE, kind=SecretKind.ENCRYPTION_KEYS, holders=by_role[Role.API]),
        SharedSecret(name=QUARANTINE, kind=SecretKind.QUARANTINE, holders=by_role[Role.API]),
        *(
            SharedSecret(name=etcd_state_secret(role), kind=SecretKind.ETCD_STATE, holders=by_role[role])
            for role in (Role.ETCD, Role.EVENTS)
        ),
    )


def etcd_state_secret(role: Role) -> str:
    """Return the name of the secret that says whether an etcd cluster was ever bootstrapped."""
    return f"{role}-state"


def vault_url(environment: Environment) -> str:
    """Return the address of the environment's vault."""
    return f"https://{vault_name(environment)}.vault.azure.net"


def vault_name(environment: Environment) -> str:
    """Return the vault's name. It begins with the prefix of names or ``lh``, and ends with a digest of the subscription
    and the environment's name: Azure's vault names are global, with 3 to 24 letters, digits and hyphens."""
    site = environment.sites[environment.control_plane.site]
    scope = cloud_of(site).machine_identity.scope(site)
    digest = hashlib.sha256(f"{scope}/{environment.name}".encode()).hexdigest()[:8]
    head = environment.naming.prefix or "lh"
    return f"{head}-{environment.name[: 14 - len(head)].rstrip('-')}-{digest}"
