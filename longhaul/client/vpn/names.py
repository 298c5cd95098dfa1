"""Split DNS on a laptop: an environment's zones are resolved inside the VPN, and all other names as before."""

from __future__ import annotations

import subprocess
from pathlib import Path

from longhaul.client.profile import Inside
from longhaul.client.vpn.privileges import as_root, system_program
from longhaul.terminal.say import say

RESOLVED = Path("/run/systemd/resolve")
"""Folder that exists while systemd-resolved runs."""


def resolve(device: str, inside: Inside) -> None:
    """Have systemd-resolved resolve the zones inside the VPN (resolvectl(1): a zone with ``~`` is for routing queries
    only), until the device is removed. When that is impossible, print what the person has to do."""
    zones = ", ".join(inside.zones)
    program = system_program("resolvectl")
    if program is None or not RESOLVED.exists():
        say(
            f"names of {zones} are not resolved here, because there is no systemd-resolved: point your resolver at "
            f"{inside.dns}"
        )
        return
    commands = (
        [program, "dns", device, inside.dns],
        [program, "domain", device, *(f"~{zone}" for zone in inside.zones)],
    )
    for command in commands:
        done = subprocess.run(as_root(command, ask=False), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            why = done.stderr.strip()[-200:]
            typed = "; ".join("sudo " + " ".join(words) for words in commands)
            say(f"names of {zones} are not resolved here ({why}): {typed}")
            return
    say(f"names of {zones} are resolved inside the VPN")
