"""``longhaul rotate``: replace a key while the cluster goes on."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from components.model.rotation import ENCRYPTION
from longhaul.context import Context, context, enter_lab
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.say import say

if TYPE_CHECKING:
    from components.model import Environment
    from components.model.rotation import Keys
    from longhaul.rotation.record import Record

HELP = "replace a key while the cluster goes on; a run that was killed is finished by the next"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``rotate``."""
    parser.add_argument(
        "what", metavar="WHAT", choices=[ENCRYPTION], help=f"{ENCRYPTION}: the key that encrypts Secrets at rest"
    )
    parser.add_argument(
        "--readmit",
        metavar="KEY",
        default="",
        help="have API servers read with a former key again, for data from a backup; the next run retires it again",
    )
    parser.add_argument("--json", action="store_true", help="for programs: the keys in use, by name, at the end")


def run(invocation: Invocation) -> int:
    """Rotate from where the vault says that the rotation is."""
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)

    from longhaul.kubernetes.connection import ApiError
    from longhaul.restore.half_done import refuse_half_restored
    from longhaul.rotation.record import for_programs

    refuse_half_restored(environment)
    record = _record(environment)
    options = invocation.options
    try:
        keys = _rotate(where, environment, record, readmit=options.readmit)
    except ApiError as error:
        code = Exit.UNREACHABLE if error.passing else Exit.FAILED
        raise CommandError(f"{error}. Run this again: it goes on from here", code=code) from None
    if options.json:
        print(for_programs(keys, record.retired()))
    return Exit.OK


def _rotate(where: Context, environment: Environment, record: Record, *, readmit: str) -> Keys:
    from components.control_plane.issuing import new_encryption_key
    from longhaul.cluster import api_of
    from longhaul.rolling.pool_lock import Words, sole_run
    from longhaul.rotation.encryption import Rotation

    words = Words(begins=f"to rotate {ENCRYPTION}", goes_on=f"{ENCRYPTION} is being rotated")
    with api_of(where, environment, os.environ) as api, sole_run(api, f"longhaul-rotate-{ENCRYPTION}", words) as held:
        rotation = Rotation(record=record, api=api, new_key=new_encryption_key, tell=say, held=held)
        return rotation.readmit(readmit) if readmit else rotation.run()


def _record(environment: Environment) -> Record:
    from clouds.registry import cloud_of
    from components.model.places import place_of
    from longhaul.rotation.record import Record

    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        said = f"the control plane is on {place.site.kind}, where no key can be rotated yet"
        raise CommandError(said, code=Exit.USAGE)
    return Record(control=control, place=place, environment=environment)
