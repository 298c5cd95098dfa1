"""The program ``openvpn`` of this machine."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from longhaul.client.vpn.privileges import as_root, system_program
from longhaul.terminal.exits import CommandError

OLDEST = (2, 5)
KEEPS_KEYS = (2, 7)
"""First version that reads keys only at a start: "``persist-key`` option has been enabled by default" (Changes.rst)."""


def program() -> str:
    """Return the program's path. Raise ``CommandError`` when it is missing."""
    path = system_program("openvpn")
    if path is None:
        raise CommandError(
            "the program `openvpn` is missing in the system's folders: install it (Debian: openvpn), or write a file "
            "for another program with --write-only. An `openvpn` in a folder of yours is not run with sudo, since any "
            "program of yours may have changed it"
        )
    return path


def reading_signal(openvpn: str) -> str:
    """Return the signal at which OpenVPN reads its certificate again (openvpn(8), "SIGNALS"): ``SIGUSR1``, which keeps
    the device, or from 2.7 on ``SIGHUP``, which does not keep it. Raise ``CommandError`` when the version is too
    old."""
    output = subprocess.run([openvpn, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.match(r"OpenVPN (\d+)\.(\d+)", output)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < OLDEST:
        raise CommandError(f"{openvpn} is older than OpenVPN 2.5, or is another program: install OpenVPN 2.6")
    return "SIGHUP" if version >= KEEPS_KEYS else "SIGUSR1"


def start(openvpn: str, settings: Sequence[str], *, socket: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start OpenVPN as root with the arguments in ``settings``; it connects to ``socket``. OpenVPN runs in the
    terminal's foreground, since sudo may ask for a password."""
    words = ["--management", str(socket), "unix", "--management-client", "--management-up-down"]
    command = as_root([openvpn, *words, *settings])
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        return subprocess.Popen(command, stdout=file, stderr=file)
