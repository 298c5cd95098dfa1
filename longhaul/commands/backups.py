"""``longhaul backups``: list the backups of the etcd clusters, or make one at once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from longhaul.context import context, enter_lab
from longhaul.exits import Exit
from longhaul.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longhaul.backups.listing import Backup

HELP = "list the backups of both etcd clusters; --now makes one"
TAKES_REST = False
SHOWN = 20
"""Largest number of backups that are listed without ``--all``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``backups``."""
    parser.add_argument("--etcd", choices=("etcd", "events"), help="of this etcd cluster alone")
    parser.add_argument("--now", action="store_true", help="first have a member of each make one")
    parser.add_argument("--all", action="store_true", help=f"all of them, not the newest {SHOWN} of each")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """List backups. Exit code 0 only when each etcd cluster has one that can be restored."""
    from dataclasses import asdict
    from datetime import UTC, datetime

    from components.model import Role
    from longhaul.backups.at_once import back_up
    from longhaul.backups.listing import backups
    from longhaul.report.programs import document
    from longhaul.say import say

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    options = invocation.options
    roles = [role for role in Role if role.is_etcd and options.etcd in (None, str(role))]
    for role in roles if options.now else ():
        say(f"{role}: {back_up(environment, role)}")
    found = backups(environment, roles, now=datetime.now(tz=UTC))
    by_role = {str(role): [one for one in found if one.etcd == str(role)] for role in roles}
    if options.json:
        print(document({name: [asdict(one) for one in those] for name, those in by_role.items()}))
    else:
        print("\n\n".join(_text(name, those, every=options.all) for name, those in by_role.items()))
    good = all(any(not one.flaw for one in those) for those in by_role.values())
    return Exit.OK if good else Exit.FAILED


def _text(name: str, found: Sequence[Backup], *, every: bool) -> str:
    from longhaul.report.text import table

    if not found:
        return f"{name}: there is no backup. `longhaul status` says why"
    shown = found if every else found[:SHOWN]
    rows = [
        (
            f"{one.made:%Y-%m-%d %H:%M:%S}Z",
            _age(one.age_s),
            one.kept,
            f"{one.size_bytes / 2**20:.1f} MiB",
            str(one.revision),
            str(one.keys),
            one.flaw or one.member,
        )
        for one in shown
    ]
    head = (f"{name.upper()}, MADE", "AGE", "KEPT", "SIZE", "REVISION", "KEYS", "BY")
    more = [f"  and {len(found) - len(shown)} older: --all"] if len(found) > len(shown) else []
    return "\n".join([*table(head, rows, right=(1, 3, 4, 5)), *more])


def _age(seconds: int) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
