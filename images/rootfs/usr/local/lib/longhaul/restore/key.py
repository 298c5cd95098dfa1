"""One-time key of a restore, for which the operator encrypts the backup's key."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from restore.record import RestoreError


def recipient(folder: Path, *, keygen: str) -> str:
    """Return the public half of the one-time key in a folder. Make a key if there is none."""
    key = folder / "key"
    if not key.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = folder / "new"
        new.unlink(missing_ok=True)
        _age(keygen, "-o", str(new))
        os.replace(new, key)
    return _age(keygen, "-y", str(key)).strip()


def _age(keygen: str, *words: str) -> str:
    done = subprocess.run([keygen, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RestoreError("age-keygen makes no key")
    return done.stdout
