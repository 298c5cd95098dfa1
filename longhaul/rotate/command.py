"""``longhaul rotate``: replace a key while the cluster keeps running."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.rotate.subjects import KNOWN, KnownRotation, RotationArguments
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment

HELP = "replace a key while the cluster keeps running; the next run finishes a killed one"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rotate``."""
    known = "; ".join(f"{rotation.name}: {rotation.what}" for rotation in KNOWN.values())
    parser.add_argument("what", metavar="WHAT", choices=[*KNOWN], help=known)
    parser.add_argument(
        "--now",
        action="store_true",
        help="remove the former key without waiting until everything that it signed has expired",
    )
    parser.add_argument(
        "--readmit",
        metavar="KEY",
        default="",
        help="make API servers read with a former key again, for data from a backup; the next run retires it again",
    )
    parser.add_argument(
        "--without",
        metavar="NODE",
        action="append",
        default=[],
        help="do not wait for this node, which drops out if it does not learn the new key; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="for programs: the phase and the keys at the end, by name")


def run(invocation: Invocation) -> int:
    """Continue the rotation from the phase that the vault records."""
    known = _known(invocation.options)
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)

    from contract.kubernetes.connection import ApiError
    from longhaul.report.json_output import document
    from longhaul.vault.restore_record import refuse_half_restored

    refuse_half_restored(environment)
    try:
        outcome = _rotate(where, environment, known, invocation.options)
    except ApiError as error:
        code = Exit.UNREACHABLE if error.passing else Exit.FAILED
        raise CommandError(f"{error}. Run this again: it continues from here", code=code) from None
    if invocation.options.json:
        print(document(outcome))
    return Exit.OK


def _known(options: argparse.Namespace) -> KnownRotation:
    """Return the rotation that the options name. Raise ``CommandError`` when the rotation does not accept one of the
    options."""
    known = KNOWN[options.what]
    for option in ("now", "readmit", "without"):
        if getattr(options, option) and option not in known.takes:
            raise CommandError(f"--{option} is not for {known.name}", code=Exit.USAGE)
    return known


def _rotate(
    where: Context, environment: Environment, known: KnownRotation, options: argparse.Namespace
) -> dict[str, Any]:
    from clouds.registry import cloud_of
    from components.model.sites.places import place_of
    from longhaul.cluster.api_access import api_of
    from longhaul.cluster.api_server_lock import locked_for_rotation

    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        reason = f"the control plane is on {place.site.kind}, where no key can be rotated yet"
        raise CommandError(reason, code=Exit.USAGE)
    with api_of(where, environment, os.environ, master=known.master) as api, locked_for_rotation(api) as is_sole:
        asked = RotationArguments(
            what=known.name,
            where=where,
            environment=environment,
            control=control,
            place=place,
            api=api,
            has_lease=is_sole,
            tell=say,
            readmit=options.readmit,
            now=options.now,
            without=tuple(options.without),
        )
        return known.run(asked)
