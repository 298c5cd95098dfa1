"""Pre-shared keys of one tunnel, in their order. Pure.

The vault's value is the keys, separated by blanks, which no cloud allows in a key. The first key is in use. A gateway
accepts the others as well: strongSwan accepts from the other end any key that it has for the two identities, and sends
the first (strongswan 6.0, src/libcharon/sa/ikev2/authenticators/psk_authenticator.c).
"""

from __future__ import annotations

from dataclasses import dataclass, field

TUNNELS = "tunnels"
"""Name of the rotation of all these keys, for ``longhaul rotate``."""

READ_VARIABLE = "LONGHAUL_TUNNEL_KEYS"
"""Environment variable by which ``longhaul rotate`` makes the program read the keys of tunnels from the vault again.
Nothing else does: a preview needs no access to the vault."""


@dataclass(frozen=True, kw_only=True)
class TunnelKeys:
    """Keys of a tunnel; none when a cloud makes its own."""

    keys: tuple[str, ...] = field(repr=False)

    @classmethod
    def parse(cls, text: str | None) -> TunnelKeys:
        """Parse the vault's value; without a secret, there are no keys."""
        return cls(keys=tuple((text or "").split()))

    def text(self) -> str:
        """Return the vault's value."""
        return " ".join(self.keys)

    @property
    def used(self) -> str:
        """Return the key in use; empty when there is none."""
        return self.keys[0] if self.keys else ""

    @property
    def others(self) -> tuple[str, ...]:
        """Return the keys that are accepted beside the key in use."""
        return self.keys[1:]

    def distinct(self) -> TunnelKeys:
        """Return the keys, each once."""
        return TunnelKeys(keys=tuple(dict.fromkeys(self.keys)))

    def trusting(self, key: str) -> TunnelKeys:
        """Return the keys, with ``key`` accepted as well."""
        return TunnelKeys(keys=(*self.keys, key)).distinct()

    def using(self, key: str) -> TunnelKeys:
        """Return the keys with ``key`` as the one in use."""
        return TunnelKeys(keys=(key, *self.keys)).distinct()

    def alone(self) -> TunnelKeys:
        """Return only the key in use."""
        return TunnelKeys(keys=self.keys[:1])
