"""The keys that encrypt Secrets at rest, in their order, and the phases of a rotation. Pure.

The vault's secret of the keys in use also records a rotation: its phase follows from the order of the keys. So the
phase survives the process that rotates, is the same for every operator, and ``longhaul up`` leaves it unchanged.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

ENCRYPTION = "secrets-encryption"
"""Name of this rotation, for ``longhaul rotate``."""

ENCRYPTED = ("secrets",)
"""Resources of the core API group that are encrypted at rest."""

FIRST_NAME = "key1"
"""Name of an environment's first key. Each stored object bears its key's name, so a name never changes."""

_NAME = re.compile(r"key([1-9][0-9]{0,8})")


class RotationPhase(StrEnum):
    """Phase of a rotation."""

    STEADY = "steady"
    """One key: nothing rotates."""
    TRUST = "trust"
    """API servers read with the new key, and write with the old one."""
    USE = "use"
    """API servers write with the new key, and read with the old one."""
    DISTRUST = "distrust"
    """The old key is removed; only in rotations with overlap (``rotations.py``)."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """An encryption key."""

    name: str
    secret: str
    """32 bytes, base64."""

    def __repr__(self) -> str:
        """Return only the name, not the secret."""
        return f"Key({self.name})"

    @property
    def number(self) -> int:
        """Return the number in its name; a later key has a larger one."""
        return _number(self.name)


@dataclass(frozen=True, kw_only=True)
class EncryptionKeys:
    """The keys in use. The first key encrypts. Each key decrypts the objects that it encrypted; they bear its name."""

    keys: tuple[Key, ...]

    @classmethod
    def first(cls, secret: str) -> EncryptionKeys:
        """Return the keys of an environment in which nothing has rotated."""
        return cls(keys=(Key(name=FIRST_NAME, secret=secret),))

    @classmethod
    def parse(cls, text: str) -> EncryptionKeys:
        """Parse the vault's value; raise ``ValueError`` when it is malformed."""
        try:
            keys = tuple(Key(name=str(entry["name"]), secret=str(entry["secret"])) for entry in json.loads(text))
        except (ValueError, KeyError, TypeError):
            raise ValueError("it is not a list of named keys") from None
        names = [key.name for key in keys]
        if not keys or len(set(names)) < len(names) or not all(_NAME.fullmatch(name) for name in names):
            raise ValueError(f"its keys are not named {FIRST_NAME}, key2 and so on, each once")
        return cls(keys=keys)

    def text(self) -> str:
        """Return the vault's value: the list in the form of kube-apiserver's EncryptionConfiguration."""
        return json.dumps([{"name": key.name, "secret": key.secret} for key in self.keys])

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names in their order."""
        return tuple(key.name for key in self.keys)

    @property
    def newest(self) -> Key:
        """Return the newest key."""
        return max(self.keys, key=lambda key: key.number)

    @property
    def phase(self) -> RotationPhase:
        """Return the rotation phase that follows from the order of the keys."""
        return phase_of(self.names)

    def trusting(self, secret: str, *, retired: tuple[Key, ...] = ()) -> EncryptionKeys:
        """Return the keys with a new key that only decrypts. ``retired`` are former keys, whose names are not used
        again."""
        number = max(key.number for key in (*self.keys, *retired)) + 1
        return EncryptionKeys(keys=(*self.keys, Key(name=f"key{number}", secret=secret)))

    def using(self) -> EncryptionKeys:
        """Return the keys with the newest as the one that encrypts."""
        newest = self.newest
        return EncryptionKeys(keys=(newest, *(key for key in self.keys if key != newest)))

    def readmitting(self, key: Key) -> EncryptionKeys:
        """Return the keys with a former key that only decrypts."""
        return EncryptionKeys(keys=(*(other for other in self.keys if other.name != key.name), key))


def phase_of(names: tuple[str, ...]) -> RotationPhase:
    """Return the rotation phase that follows from an order of keys' names."""
    if len(names) < 2:
        return RotationPhase.STEADY
    newest = max(names, key=_number)
    return RotationPhase.USE if names[0] == newest else RotationPhase.TRUST


def _number(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else 0
