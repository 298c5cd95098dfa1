"""Options that the client's commands share, and the profile that they lead to."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client.files import config_folder
from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from longhaul.client.profile import Profile

KEPT = "profile.json"
"""Name of the profile that is kept in an environment's folder."""

PROFILE = "the profile from whoever runs the environment (default: the one that `login` kept, if there is one alone)"


def add_sign_in(parser: argparse.ArgumentParser, *, profile: str) -> None:
    """Add the options with which a person signs in; ``profile`` says what the one of the profile is for."""
    parser.add_argument("--profile", type=Path, metavar="FILE", help=profile)
    parser.add_argument("--issuer", metavar="NAME", help="where to sign in, if the environment has several issuers")
    parser.add_argument("--device", action="store_true", help="sign in on another machine, by a code")


def profile_of(options: argparse.Namespace) -> Profile:
    """Return the profile that is named, or else the only one that is kept."""
    from longhaul.client.profile import read_profile

    return read_profile(options.profile or _kept())


def _kept() -> Path:
    found = sorted(config_folder("").glob(f"*/{KEPT}"))
    if len(found) == 1:
        return found[0]
    if not found:
        why = "there is no profile yet: --profile FILE names the one from whoever runs the environment"
    else:
        why = f"there are several profiles: name one by --profile ({', '.join(map(str, found))})"
    raise CommandError(why, code=Exit.USAGE)
