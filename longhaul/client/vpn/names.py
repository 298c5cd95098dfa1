"""Names of an environment on a laptop: its zones are asked for inside the VPN, and all others as before (split DNS)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longhaul.client.vpn.root import as_root
from longhaul.say import say

RESOLVED = Path("/run/systemd/resolve")
"""Folder that systemd-resolved has while it runs."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """Device, name servers and zones, as a VPN machine pushed them."""

    device: str
    servers: tuple[str, ...]
    zones: tuple[str, ...]


def pushed(variables: Mapping[str, str]) -> Names:
    """Return what was pushed, from the variables of OpenVPN's scripts (openvpn(8), "Environmental Variables":
    ``foreign_option_{n}`` is an option for the system, such as ``dhcp-option DNS 10.0.0.10``)."""
    numbered = sorted((key for key in variables if key.startswith("foreign_option_")), key=lambda key: (len(key), key))
    options = [variables[key].split() for key in numbered]
    said = [(words[1], words[2]) for words in options if len(words) == 3 and words[0] == "dhcp-option"]
    return Names(
        device=variables.get("dev", ""),
        servers=tuple(value for kind, value in said if kind == "DNS"),
        zones=tuple(value for kind, value in said if kind in ("DOMAIN-ROUTE", "DOMAIN")),
    )


def resolve(names: Names) -> None:
    """Have systemd-resolved ask for the zones inside the VPN (resolvectl(1): a zone with ``~`` is for asking alone). It
    forgets that with the device. Where that cannot be done, say what has to be."""
    if not (names.device and names.servers and names.zones):
        return
    zones, servers = ", ".join(names.zones), " ".join(names.servers)
    if shutil.which("resolvectl") is None or not RESOLVED.exists():
        say(f"names of {zones} are not resolved here, for want of systemd-resolved: have your resolver ask {servers}")
        return
    commands = (
        ["resolvectl", "dns", names.device, *names.servers],
        ["resolvectl", "domain", names.device, *(f"~{zone}" for zone in names.zones)],
    )
    for command in commands:
        done = subprocess.run(as_root(command, ask=False), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            why = done.stderr.strip()[-200:]
            typed = "; ".join("sudo " + " ".join(one) for one in commands)
            say(f"names of {zones} are not resolved here ({why}): {typed}")
            return
    say(f"names of {zones} are resolved inside the VPN")
