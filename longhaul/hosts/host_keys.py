"""Reads the SSH host keys of gateways and hosts over the network, to be compared and pinned."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from longhaul.racks.inventory import OnpremMachine
from longhaul.terminal.exits import CommandError

KINDS = {"ssh-ed25519": "ed25519", "ecdsa-sha2-nistp256": "ecdsa", "ssh-rsa": "rsa"}
"""Types of keys that may be pinned, and their names for ssh-keyscan(1), ``-t``."""
BEST = "ssh-ed25519"
"""Type to ask for when the machine has no pinned key."""
TIMEOUT_S = 5
"""Seconds that a machine has to answer."""

Scanner = Callable[[Sequence[str], Collection[str]], str]
"""Returns known-hosts lines (address and key) for the given addresses and key types, as far as they answer."""


class ScanResult(Enum):
    """Result of a scan for a machine."""

    NEW = "not pinned yet"
    SAME = "pinned"
    OTHER = "another key answers than the pinned one"
    SILENT = "no answer"


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """One machine and the host key that it presented."""

    machine: OnpremMachine
    key: str | None

    @property
    def state(self) -> ScanResult:
        """Return how the key compares with the pinned key."""
        if self.key is None:
            return ScanResult.SILENT
        if not self.machine.host_key:
            return ScanResult.NEW
        return ScanResult.SAME if self.key.split() == self.machine.host_key.split()[:2] else ScanResult.OTHER

    @property
    def fingerprint(self) -> str:
        """Return the key's fingerprint, as ``ssh-keygen -l`` prints it; empty without a key."""
        return "" if self.key is None else fingerprint(self.key)

    @property
    def kind(self) -> str:
        """Return the key's type, as ``ssh-keygen -l`` prints it; empty without a key."""
        return "" if self.key is None else KINDS[self.key.split()[0]].upper()


def fingerprint(key: str) -> str:
    """Return the fingerprint of a public key, ``TYPE BASE64`` (ssh-keygen(1), ``-l``)."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def scan(machines: Sequence[OnpremMachine], scanner: Scanner) -> list[Scanned]:
    """Return each machine with the host key at its address: of the pinned key's type, or else of type :data:`BEST`."""
    host_keys = {}
    for line in scanner([str(machine.reached_at) for machine in machines], {BEST, *map(_kind, machines)}).splitlines():
        words = line.split()
        if len(words) >= 3 and not line.startswith("#"):
            host_keys[words[0], words[1]] = " ".join(words[1:3])
    keys = ([host_keys.get((str(machine.reached_at), kind)) for kind in (_kind(machine), BEST)] for machine in machines)
    return [
        Scanned(machine=machine, key=pinned or best) for machine, (pinned, best) in zip(machines, keys, strict=True)
    ]


def _kind(machine: OnpremMachine) -> str:
    return machine.host_key.split()[0] if machine.host_key else BEST


def keyscan(addresses: Sequence[str], kinds: Collection[str]) -> str:
    """Scan the addresses, all at once, with ssh-keyscan(1). ssh-keyscan does not read the user's SSH configuration, so
    no ``ProxyJump`` is used."""
    argv = ["ssh-keyscan", "-T", str(TIMEOUT_S), "-t", ",".join(sorted(KINDS[kind] for kind in kinds)), *addresses]
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    except FileNotFoundError:
        raise CommandError("ssh-keyscan is missing: it is part of OpenSSH's client") from None
