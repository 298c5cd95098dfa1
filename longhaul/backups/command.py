"""``longhaul backups``: list the backups of the etcd clusters, or make one at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from components.model import Environment
    from longhaul.etcd_backups.listing import ListedBackup

HELP = "list the backups of both etcd clusters; --now makes one, --verify restores the newest into a folder"
REST = ""
SHOWN = 20
"""Largest number of backups that are listed without ``--all``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``backups``."""
    parser.add_argument("--etcd", choices=("etcd", "events"), help="only this etcd cluster")
    parser.add_argument("--now", action="store_true", help="first make a backup of each etcd cluster")
    parser.add_argument(
        "--from-learner",
        action="store_true",
        help="with --now: the learner makes the backup of the main etcd cluster, even when no other member answers",
    )
    parser.add_argument(
        "--verify",
        metavar="KEYFILE",
        type=Path,
        help="also fetch the newest backup of each, decrypt it with this private key of age, restore it here and "
        "count its keys",
    )
    parser.add_argument("--all", action="store_true", help=f"list all, not only the newest {SHOWN} of each")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """List backups. Return exit code 0 only when each etcd cluster has a backup that can be restored."""
    from dataclasses import asdict
    from datetime import UTC, datetime

    from components.model import Role
    from longhaul.backups.on_demand import back_up, check_learner, revision_warning
    from longhaul.etcd_backups.listing import backups, warnings
    from longhaul.report.json_output import document
    from longhaul.terminal.say import say

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    options = invocation.options
    roles = [role for role in Role if role.is_etcd and options.etcd in (None, str(role))]
    if options.from_learner:
        check_learner(environment, now=options.now, roles=roles)
        roles = [Role.ETCD]
    made = []
    for role in roles if options.now else ():
        made.append(back_up(environment, role, from_learner=options.from_learner))
        say(f"{role}: {made[-1]}")
    listed = backups(environment, roles, now=datetime.now(tz=UTC))
    for warning in (*filter(None, (revision_warning(name, listed) for name in made)), *warnings(environment, listed)):
        say(f"warning: {warning}")
    by_role = {str(role): [backup for backup in listed if backup.etcd == str(role)] for role in roles}
    if options.json:
        print(document({name: [asdict(backup) for backup in those] for name, those in by_role.items()}))
    else:
        print("\n\n".join(_text(name, those, every=options.all) for name, those in by_role.items()))
    if options.verify is not None:
        for those in by_role.values():
            if (newest := next((backup for backup in those if not backup.flaw), None)) is not None:
                say(_verified(environment, newest, options.verify))
    good = all(any(not backup.flaw for backup in those) for those in by_role.values())
    return Exit.OK if good else Exit.FAILED


def _verified(environment: Environment, backup: ListedBackup, key: Path) -> str:
    """Restore a backup into a temporary folder, and return its revision and number of keys as text."""
    from tempfile import TemporaryDirectory

    from longhaul.etcd_backups.snapshots import BUMP, open_snapshot, restore_snapshot
    from longhaul.terminal.say import say
    from longhaul.toolchain import tools
    from longhaul.toolchain.spec import load

    if not key.is_file():
        raise CommandError(f"--verify {key}: there is no such file", code=Exit.USAGE)
    with TemporaryDirectory(prefix="longhaul-backup-") as folder:
        place = Path(folder)
        spec = load(versions=environment.versions.pinned())
        programs = tools.ensure(["etcd", "age"], log_dir=place, progress=say, spec=spec)
        snapshot = open_snapshot(environment, backup, identity=key, folder=place, programs=programs)
        outcome = restore_snapshot(snapshot, folder=place, programs=programs)
    if outcome.revision != backup.revision + BUMP or outcome.keys < backup.keys:
        raise CommandError(
            f"{backup.name}: the restored data has revision {outcome.revision - BUMP} and {outcome.keys} keys, but "
            f"the member saved revision {backup.revision} and {backup.keys} keys"
        )
    # The restore adds an entry, which raises the revision: the message has the revision of the list.
    return f"{backup.name} is good: revision {backup.revision}, {backup.keys} keys"


def _text(name: str, listed: Sequence[ListedBackup], *, every: bool) -> str:
    from longhaul.report.text import table
    from longhaul.terminal.ages import age

    if not listed:
        return f"{name}: there is no backup yet. `longhaul status` says why"
    shown = listed if every else listed[:SHOWN]
    rows = [
        (
            f"{backup.made:%Y-%m-%d %H:%M:%S}Z",
            age(backup.age_s),
            backup.kept,
            f"{backup.size_bytes / 2**20:.1f} MiB",
            str(backup.revision),
            str(backup.keys),
            backup.flaw or backup.member,
        )
        for backup in shown
    ]
    head = (f"{name.upper()}, MADE", "AGE", "KEPT", "SIZE", "REVISION", "KEYS", "BY")
    more = [f"  and {len(listed) - len(shown)} older: --all"] if len(listed) > len(shown) else []
    return "\n".join([*table(head, rows, right=(1, 3, 4, 5)), *more])
