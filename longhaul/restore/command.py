"""``longhaul restore``: rebuild etcd clusters from backups when their quorum is lost permanently."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.confirm import confirm
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from components.model import Environment
    from longhaul.restore.preparation import Prepared
    from longhaul.restore.steps import Restoration
    from longhaul.vault.restore_record import UnfinishedRestore

HELP = "restore etcd clusters from backups when their quorum is lost for good; another run continues a killed one"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``restore``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--key", metavar="KEYFILE", type=Path, help="private key of age; it stays here")
    what.add_argument(
        "--give-up",
        action="store_true",
        help="end an unfinished restore while no member has new data: the data set aside is moved back",
    )
    parser.add_argument(
        "--etcd", choices=("etcd", "events"), help="only this etcd cluster (default: those that lost quorum)"
    )
    parser.add_argument("--at", metavar="TIME", type=_time, help="the newest backup at this time: 2030-05-04T10:30Z")
    parser.add_argument(
        "--backup",
        metavar="NAME",
        action="append",
        default=[],
        help="this backup, by its name in `longhaul backups --all --json`; once for each etcd cluster",
    )
    parser.add_argument(
        "--although-healthy", action="store_true", help="also replace an etcd cluster that has a quorum"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for the environment's name")
    parser.add_argument("--json", action="store_true", help="the result for programs")


def run(invocation: Invocation) -> int:
    """Inspect the control plane, show what will be lost, ask, and restore."""
    from longhaul.engine.execution import interruptible

    options = invocation.options
    if options.although_healthy and (options.yes or not options.etcd):
        message = "--although-healthy: name the etcd cluster with --etcd, and type the environment's name (no --yes)"
        raise CommandError(message, code=Exit.USAGE)
    keys = _keys(options.key) if options.key else []
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    if options.give_up:
        with _alone(where), interruptible():
            return _give_up(environment, where.env, yes=options.yes)
    with _alone(where), interruptible():
        prepared, restoration = _prepared(environment, options, keys)
        _confirm(where.env, prepared, yes=options.yes)
        try:
            restoration.run()
        except KeyboardInterrupt:
            say(f"interrupted: restore {prepared.half.id} is incomplete; {_again(where.env, options)} continues it")
            return Exit.INTERRUPTED
        except CommandError as error:
            if error.code is Exit.REFUSED:
                raise
            raise CommandError(f"{error}\n{_again(where.env, options)} continues from here", code=error.code) from None
    _tell(environment, prepared, restoration, json=options.json)
    return Exit.OK


def _keys(path: Path) -> Sequence[X25519PrivateKey]:
    """Return the operator's private keys; this comes before any question."""
    from longhaul.restore.age_header import KeyFileError, identities

    try:
        return identities(path)
    except KeyFileError as error:
        raise CommandError(f"--key {error}", code=Exit.USAGE) from None


def _prepared(
    environment: Environment, options: argparse.Namespace, keys: Sequence[X25519PrivateKey]
) -> tuple[Prepared, Restoration]:
    from components.model import Role
    from longhaul.etcd_backups.listing import control_access
    from longhaul.restore.file_key import with_file_key
    from longhaul.restore.machines import PlaceMachines
    from longhaul.restore.preparation import RestoreArguments, prepare
    from longhaul.restore.steps import Restoration
    from longhaul.vault.restore_record import RestoreRecords

    control, place = control_access(environment)
    book = RestoreRecords(control=control, place=place, environment=environment)
    fleet = PlaceMachines(control=control, place=place)
    wanted = RestoreArguments(
        roles=[Role(options.etcd)] if options.etcd else [],
        at=options.at,
        names=options.backup,
        although_healthy=options.although_healthy,
    )
    prepared = prepare(environment, book, fleet, wanted)
    began = time.monotonic()
    restoration = Restoration(
        half=prepared.half,
        sealed={
            role: with_file_key(environment, backup, keys, key_file=options.key)
            for role, backup in prepared.backups.items()
        },
        observed=prepared.observed,
        fleet=fleet,
        book=book,
        before=prepared.before,
        say=lambda line: say(f"[{time.monotonic() - began:4.0f} s] {line}"),
    )
    return prepared, restoration


def _confirm(env: str, prepared: Prepared, *, yes: bool) -> None:
    from longhaul.restore.loss import loss_text

    lines = (*prepared.notes, *loss_text(prepared.half, prepared.backups, prepared.observed).splitlines())
    what = f"restore {' and '.join(map(str, prepared.backups))}"
    confirm(lines, what=what, name=env, noun="environment", yes=yes)


def _give_up(environment: Environment, env: str, *, yes: bool) -> int:
    from longhaul.etcd_backups.listing import control_access
    from longhaul.restore.give_up import given_up
    from longhaul.restore.machines import PlaceMachines
    from longhaul.vault.restore_record import RestoreRecords

    control, place = control_access(environment)
    book = RestoreRecords(control=control, place=place, environment=environment)

    def agree(half: UnfinishedRestore) -> None:
        confirm((), what=f"give up the restore {half.id}", name=env, noun="environment", yes=yes)

    half = given_up(book, PlaceMachines(control=control, place=place), agree)
    say(f"the restore {half.id} is given up: members have their previous data, and the API servers start")
    return Exit.OK


@contextmanager
def _alone(where: Context) -> Iterator[None]:
    """Lock out other runs that change the environment, as `up` does."""
    from longhaul.engine.engine import engine_for
    from longhaul.engine.records import new_run
    from longhaul.engine.recovery import recover

    engine = engine_for(where, os.environ)
    recover(engine)
    engine.records.write(new_run("restore"))
    try:
        yield
    finally:
        engine.records.clear()


def _tell(environment: Environment, prepared: Prepared, restoration: Restoration, *, json: bool) -> None:
    from longhaul.report.json_output import document as rendered
    from longhaul.restore.loss import document

    asides = restoration.asides
    if json:
        print(rendered(document(prepared.half, prepared.backups, prepared.observed, restoration.clusters, asides)))
    say(f"{environment.name}: {' and '.join(map(str, prepared.backups))} restored, and the API servers are ready")
    for name, folders in asides.items():
        if folders:
            say(f"{name} keeps the old data until you remove it: {', '.join(folders)}")


def _again(env: str, options: argparse.Namespace) -> str:
    return f"`longhaul restore --env {env} --key {options.key}`"


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: 2030-05-04T10:30Z") from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
