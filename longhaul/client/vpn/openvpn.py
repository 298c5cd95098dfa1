"""The program ``openvpn`` of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from longhaul.client.vpn.root import as_root
from longhaul.exits import CommandError

SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/opt/homebrew/sbin")
"""Folders that a person's PATH may lack."""
OLDEST = (2, 5)
KEEPS_KEYS = (2, 7)
"""Version from which on keys are read at a start alone: "``persist-key`` option has been enabled by default"
(Changes.rst)."""


def program() -> str:
    """Return the program's path; ``CommandError`` when it is missing."""
    found = shutil.which("openvpn", path=os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM_FOLDERS)))
    if found is None:
        raise CommandError(
            "the program `openvpn` is missing: install it (Debian: openvpn; macOS: brew install openvpn), or write a "
            "file for another program by --write-only"
        )
    return found


def reading_signal(openvpn: str) -> str:
    """Return the signal at which OpenVPN reads its certificate again (openvpn(8), "SIGNALS"): ``SIGUSR1``, which leaves
    the device as it is; from 2.7 on ``SIGHUP``, which does not. ``CommandError`` for a version that is too old."""
    said = subprocess.run([openvpn, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"OpenVPN (\d+)\.(\d+)", said)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version < OLDEST:
        raise CommandError(f"{openvpn} is older than OpenVPN 2.5, or is another program: install OpenVPN 2.6")
    return "SIGHUP" if version >= KEEPS_KEYS else "SIGUSR1"


def start(openvpn: str, settings: Sequence[str], *, socket: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start OpenVPN as root with arguments; it connects to ``socket``. In the terminal's foreground, since sudo may ask for a
    password there."""
    words = ["--management", str(socket), "unix", "--management-client", "--management-up-down"]
    command = as_root([openvpn, *words, *settings])
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file)
