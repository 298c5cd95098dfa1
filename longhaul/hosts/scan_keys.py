"""``longhaul hosts scan-keys``: show the machines' host keys, ask, and pin the keys of machines without a pinned
key."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from longhaul.hosts.host_keys import Scanned, ScanResult, keyscan, scan
from longhaul.hosts.pinning import pin_gateways, pin_hosts
from longhaul.project.context import Context
from longhaul.racks.inventory import GATEWAYS, OnpremMachine
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import ask, say

if TYPE_CHECKING:
    from components.model import Environment

COMPARE = "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"
"""Command that prints the fingerprint on the machine itself."""


def scan_keys(
    where: Context, environment: Environment, machines: Sequence[OnpremMachine], options: argparse.Namespace
) -> Exit:
    """Scan, show, ask and pin. Return exit code 0 only when every machine presents its pinned key."""
    scans = scan(machines, keyscan)
    new = [scanned for scanned in scans if scanned.state is ScanResult.NEW]
    _show(where.env, scans, as_json=options.json)
    if new and _agreed(len(new), yes=options.yes):
        names = pin(where, environment, new)
        say(f"pinned: {len(new)} in {' and '.join(names)}; commit them")
        new = []
    wrong = [scanned for scanned in scans if scanned.state in (ScanResult.OTHER, ScanResult.SILENT)]
    return Exit.FAILED if new or wrong else Exit.OK


def pin(where: Context, environment: Environment, scans: Sequence[Scanned]) -> list[str]:
    """Write the keys into the environment's files, all or none; return the files' names."""
    from longhaul.project.writing import write

    stack = where.project.stack_file(where.env)
    gateways = {scanned.machine.declared: str(scanned.key) for scanned in scans if scanned.machine.group == GATEWAYS}
    hosts = {scanned.machine.declared: str(scanned.key) for scanned in scans if scanned.machine.group != GATEWAYS}
    texts = {}
    if environment.bare_metal:
        path = stack.with_name(environment.bare_metal)
        texts[path.name] = pin_hosts(path.read_text(encoding="utf-8"), hosts)
    texts[stack.name] = pin_gateways(stack.read_text(encoding="utf-8"), gateways)
    write(where.project.stacks, texts, stack=stack.name, force=True)
    changed = {stack.name: bool(gateways), str(environment.bare_metal): bool(hosts)}
    return [f"stacks/{name}" for name, is_changed in changed.items() if is_changed]


def _show(env: str, scans: Sequence[Scanned], *, as_json: bool) -> None:
    from longhaul.report.json_output import document
    from longhaul.report.text import table

    if as_json:
        machines = [
            {
                "name": scanned.machine.name,
                "address": str(scanned.machine.reached_at),
                "state": scanned.state.name.lower(),
                "fingerprint": scanned.fingerprint or None,
                "host_key": scanned.key,
                "pin_at": scanned.machine.pin_at,
            }
            for scanned in scans
        ]
        print(document({"environment": env, "machines": machines}))
        return
    rows = [
        (
            scanned.machine.name,
            str(scanned.machine.reached_at),
            f"{scanned.fingerprint} ({scanned.kind})" if scanned.key else "-",
            scanned.state.value,
        )
        for scanned in scans
    ]
    print("\n".join(table(("MACHINE", "ADDRESS", "FINGERPRINT", "STATE"), rows, width=None)))


def _agreed(number: int, *, yes: bool) -> bool:
    """Return whether to pin the keys: a person has compared them, or --yes says so."""
    import sys

    if yes:
        return True
    if not sys.stdin.isatty():
        raise CommandError(
            f"{number} not pinned: compare them on the machines (`{COMPARE}`), then pass --yes", code=Exit.USAGE
        )
    say(
        f"an attacker between here and a machine can show another key: compare it on the machine's console, `{COMPARE}`"
    )
    if ask(f"Pin {number} host keys? (yes/no) ") == "yes":
        return True
    say("nothing was pinned")
    return False
