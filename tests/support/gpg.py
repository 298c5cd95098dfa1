"""Real gpg with a home of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_gpg = pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg")


def gpg(home: Path, *argv: str) -> str:
    """Run gpg and return what it prints."""
    home.mkdir(mode=0o700, exist_ok=True)
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GNUPGHOME": str(home)}
    full = ["gpg", "--batch", "--quiet", "--no-tty", *argv]
    return subprocess.run(full, env=environ, capture_output=True, text=True, check=True).stdout


def end_agent(home: Path) -> None:
    """End the agent that gpg started for keys in this home."""
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=True)


def new_key(home: Path, name: str) -> str:
    """Make a key without a passphrase and return its public half, armoured."""
    gpg(home, "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "never")
    return gpg(home, "--armor", "--export", name)
