"""Options that the client's commands share, and the profile that they lead to."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client.files import config_folder
from longhaul.terminal.exits import CommandError, Exit

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
    parser.add_argument(
        "--replace", action="store_true", help="take a profile that leads elsewhere than the one that is kept"
    )


def profile_of(options: argparse.Namespace) -> Profile:
    """Return the profile that is named, or else the only one that is kept."""
    from longhaul.client.profile import read_profile

    if options.profile is None:
        return read_profile(_kept())
    profile = read_profile(options.profile)
    refuse_changed(profile, config_folder(profile.name) / KEPT, replace=options.replace)
    return profile


def refuse_changed(profile: Profile, kept: Path, *, replace: bool) -> None:
    """Raise ``CommandError`` for a profile that leads elsewhere than the one that is kept: the tokens from before are
    good there, and nobody would be asked. One that cannot be read is no comparison."""
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
            f"this profile of {profile.name} leads elsewhere than the one that is kept ({kept}): another "
            f"{', '.join(changed)}; its API is {profile.server}, and was {before.server}. Take it with --replace if "
            "whoever runs the environment gave it to you",
            code=Exit.REFUSED,
        )


def _kept() -> Path:
    profiles = sorted(config_folder("").glob(f"*/{KEPT}"))
    if len(profiles) == 1:
        return profiles[0]
    if not profiles:
        why = "there is no profile yet: --profile FILE names the one from whoever runs the environment"
    else:
        why = f"there are several profiles: name one by --profile ({', '.join(map(str, profiles))})"
    raise CommandError(why, code=Exit.USAGE)
