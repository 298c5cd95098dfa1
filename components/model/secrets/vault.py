"""Secrets of the vault besides certificates, and the vault's name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from clouds.registry import cloud_of
from components.model.control_plane.machines import Machine, Role, members
from components.model.environment import Environment


class SecretKind(StrEnum):
    """Kind of a shared secret, which decides its first value."""

    SIGNING_KEYS = "signing-keys"
    """The key that signs service accounts' tokens, ECDSA P-256, and the public keys of tokens that are accepted: at
    first only that key's."""
    ENCRYPTION_KEYS = "encryption-keys"
    """The keys that encrypt Secrets at rest (``encryption_keys.py``), each of 32 random bytes: at first one."""
    QUARANTINE = "quarantine"
    """The machines in quarantine (``quarantine.py``): empty at first."""
    REVOKED = "revoked"
    """The people whose access was revoked (``revoked.py``): empty at first."""
    ETCD_STATE = "store-state"
    """State of an etcd cluster: ``new`` until its first members were ready, then ``existing``. It decides whether a
    member without data may bootstrap the etcd cluster."""
    VPN_KEY = "vpn-key"
    """A static key of OpenVPN, in the format of ``openvpn --genkey``."""
    ROTATIONS = "rotations"
    """Phases of rotations with overlap that are not over (``rotations.py``); it holds no key."""


KEYS_IN_USE = "encryption-keys"
"""Name of the secret with the encryption keys that API servers hold. Only ``longhaul rotate`` changes it."""

RETIRED_KEYS = "encryption-retired"
"""Name of the secret with former encryption keys, which no machine may read: backups need them. ``longhaul rotate``
makes it."""

SIGNING_KEYS = "service-account-keys"
"""Name of the secret with the keys of service accounts' tokens that API servers hold. Only ``longhaul rotate`` changes
it."""

ROTATIONS = "rotations"
"""Name of the secret that records rotations with overlap. Only ``longhaul rotate`` changes it."""


def next_secret(name: str) -> str:
    """Return the name of the secret with the new key that a rotation will put into the secret ``name``. No machine may
    read it."""
    return f"{name}-next"


QUARANTINE = "quarantine"
"""Name of the secret with the machines in quarantine, which API servers refuse. Only ``longhaul machine`` changes
it."""

REVOKED = "revoked"
"""Name of the secret with the people whose access was revoked, whom API servers refuse. Only ``longhaul access``
changes it."""

VPN_KEY = "vpn-key"
"""Name of the secret with the key that hides the VPN from everybody without the key (``tls-crypt``). Laptops get it
with their certificate, so it keeps away strangers only."""

VPN_REMOTES = "vpn-remotes"
"""Name of the secret with the addresses of the VPN machines, which laptops get. ``longhaul up`` writes it."""

ISSUERS = "issuers"
"""Name of the secret with the issuers whose tokens people sign in with. ``longhaul up`` writes the file's issuers."""


@dataclass(frozen=True, kw_only=True)
class SharedSecret:
    """A secret that several machines hold."""

    name: str
    kind: SecretKind
    holders: tuple[str, ...]
    """Names of the machines that hold it. For an etcd cluster's state, only the members that bootstrap it, so not the
    learner."""


def shared_secrets(machines: tuple[Machine, ...]) -> tuple[SharedSecret, ...]:
    """Return every shared secret: those of the API servers, the VPN's, and one for the state of each etcd cluster."""
    by_role = {role: tuple(m.name for m in members(machines, role)) for role in Role}
    vpn = by_role[Role.VPN]
    vpn_key = [SharedSecret(name=VPN_KEY, kind=SecretKind.VPN_KEY, holders=vpn)] if vpn else []
    return (
        SharedSecret(name=SIGNING_KEYS, kind=SecretKind.SIGNING_KEYS, holders=by_role[Role.API]),
        SharedSecret(name=KEYS_IN_USE, kind=SecretKind.ENCRYPTION_KEYS, holders=by_role[Role.API]),
        SharedSecret(name=ROTATIONS, kind=SecretKind.ROTATIONS, holders=by_role[Role.API]),
        SharedSecret(name=QUARANTINE, kind=SecretKind.QUARANTINE, holders=by_role[Role.API]),
        SharedSecret(name=REVOKED, kind=SecretKind.REVOKED, holders=(*by_role[Role.API], *vpn)),
        *vpn_key,
        *(
            SharedSecret(name=etcd_state_secret(role), kind=SecretKind.ETCD_STATE, holders=by_role[role])
            for role in (Role.ETCD, Role.EVENTS)
        ),
    )


def etcd_state_secret(role: Role) -> str:
    """Return the name of the secret that records whether an etcd cluster was ever bootstrapped."""
    return f"{role}-state"


def vault_url(environment: Environment) -> str:
    """Return the address of the environment's vault."""
    return f"https://{vault_name(environment)}.vault.azure.net"


def vault_name(environment: Environment) -> str:
    """Return the vault's name. It begins with the prefix of names or ``lh``, and ends with a digest of the subscription
    and the environment's name: names of Azure's vaults are unique in the world, with 3 to 24 letters, digits and
    hyphens."""
    site = environment.sites[environment.control_plane.site]
    scope = cloud_of(site).account_scope(site)
    digest = hashlib.sha256(f"{scope}/{environment.name}".encode()).hexdigest()[:8]
    head = environment.naming.prefix or "lh"
    return f"{head}-{environment.name[: 14 - len(head)].rstrip('-')}-{digest}"
