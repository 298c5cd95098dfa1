"""Options that the client's commands share, and the profile that they select."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client.files import config_folder
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from longhaul.client.profile import Profile

KEPT = "profile.json"
"""File name of the stored profile in an environment's folder."""

PROFILE = "the profile from the environment's operator (default: the profile that `login` stored, if there is only one)"


def add_sign_in(parser: argparse.ArgumentParser, *, profile: str) -> None:
    """Add the options for signing in; ``profile`` is the help text of ``--profile``."""
    parser.add_argument("--profile", type=Path, metavar="FILE", help=profile)
    parser.add_argument("--issuer", metavar="NAME", help="where to sign in, if the environment has several issuers")
    parser.add_argument("--device", action="store_true", help="sign in on another machine, by a code")
    parser.add_argument(
        "--replace", action="store_true", help="accept a profile that leads elsewhere than the stored one"
    )


def profile_of(options: argparse.Namespace) -> Profile:
    """Return the profile that ``--profile`` names, or else the only stored profile."""
    from longhaul.client.profile import read_profile

    if options.profile is None:
        return read_profile(_kept())
    profile = read_profile(options.profile)
    refuse_changed(profile, config_folder(profile.name) / KEPT, replace=options.replace)
    return profile


def refuse_changed(profile: Profile, kept: Path, *, replace: bool) -> None:
    """Unless ``replace``, raise ``CommandError`` when a profile leads elsewhere than the stored profile: the stored
    tokens would be sent there without a question. A stored profile that cannot be read is not compared."""
    from longhaul.client.errors import SignInError
    from longhaul.client.profile import read_former

    try:
        before = read_former(kept)
    except SignInError:
        return
    parts = ("server", "authority", "issuers", "vpn")
    changed = [part for part in parts if getattr(profile, part) != getattr(before, part)]
    if changed and not replace:
        raise CommandError(
            f"this profile of {profile.name} leads elsewhere than the stored one ({kept}): it has another "
            f"{', '.join(changed)}; its API is {profile.server}, and was {before.server}. Accept it with --replace if "
            "the environment's operator gave it to you",
            code=Exit.REFUSED,
        )


def _kept() -> Path:
    profiles = sorted(config_folder("").glob(f"*/{KEPT}"))
    if len(profiles) == 1:
        return profiles[0]
    if not profiles:
        why = "there is no profile yet: --profile FILE names the file from the environment's operator"
    else:
        why = f"there are several profiles: name one by --profile ({', '.join(map(str, profiles))})"
    raise CommandError(why, code=Exit.USAGE)
