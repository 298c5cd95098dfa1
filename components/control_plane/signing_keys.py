"""The key that signs service accounts' tokens, and the public keys of all tokens that are accepted; no network.

The vault's value holds them as one file, which kube-apiserver and kube-controller-manager read for both purposes: they
use the first private key in it, and every public one (client-go 0.36, util/keyutil).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from components.control_plane import issuing

_BLOCK = re.compile(r"-----BEGIN (PRIVATE|PUBLIC) KEY-----.+?-----END \1 KEY-----\n", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class SigningKeys:
    """Keys in use."""

    signs: str = field(repr=False)
    """Private key that signs new tokens, PEM."""
    verifies: tuple[str, ...]
    """Public keys, PEM; the first belongs to ``signs``."""

    @classmethod
    def alone(cls, key: str) -> SigningKeys:
        """Return the keys when only ``key`` is in use."""
        return cls(signs=key, verifies=(issuing.public_key(key),))

    @classmethod
    def parse(cls, text: str) -> SigningKeys:
        """Parse the vault's value; raise ``ValueError`` when it is malformed."""
        try:
            blocks = [(match[1], match[0]) for match in _BLOCK.finditer(json.loads(text)["file"])]
        except (ValueError, KeyError, TypeError):
            raise ValueError("it is not a file of keys") from None
        private = [block for kind, block in blocks if kind == "PRIVATE"]
        public = tuple(block for kind, block in blocks if kind == "PUBLIC")
        if len(private) != 1 or public[:1] != (issuing.public_key(private[0]),):
            raise ValueError("it does not begin with one signing key and its public key")
        return cls(signs=private[0], verifies=public)

    def text(self) -> str:
        """Return the keys as the vault's value."""
        return json.dumps({"file": self.file})

    @property
    def file(self) -> str:
        """Return the file for kube-apiserver and kube-controller-manager."""
        return self.signs + "".join(self.verifies)

    def trusting(self, key: str) -> SigningKeys:
        """Return the keys, with tokens of ``key`` accepted as well."""
        public = issuing.public_key(key)
        return self if public in self.verifies else SigningKeys(signs=self.signs, verifies=(*self.verifies, public))

    def using(self, key: str) -> SigningKeys:
        """Return the keys with ``key`` as the one that signs. The private half of the former signing key is dropped,
        because nothing needs it."""
        public = issuing.public_key(key)
        return SigningKeys(signs=key, verifies=(public, *(verify for verify in self.verifies if verify != public)))
