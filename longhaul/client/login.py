"""``longhaul login``: sign in by the company's own identity, and write a kubeconfig for it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client.files import config_folder, write_private
from longhaul.client.options import KEPT, PROFILE, add_sign_in, profile_of
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from longhaul.client.profile import Profile

HELP = "sign in by your company's identity; writes a kubeconfig and prints its path"


def add_arguments(parser: argparse.ArgumentParser, *, profile: str = PROFILE) -> None:
    """Add the options of ``login``. ``profile`` is the help text of ``--profile``."""
    add_sign_in(parser, profile=profile)
    parser.add_argument(
        "--no-kubelogin", action="store_true", help="use this program's kubectl plugin even if kubelogin is installed"
    )


def run(options: argparse.Namespace) -> None:
    """Sign in with the profile that ``--profile`` names, or else with the stored profile."""
    profile = profile_of(options)
    print(sign_in(profile, options, folder=config_folder(profile.name)))


def sign_in(profile: Profile, options: argparse.Namespace, *, folder: Path) -> Path:
    """Store the profile in ``folder``, write the kubeconfig there, and sign in; kubelogin signs in at its first use
    instead. Return the kubeconfig's path. Raise ``SignInError`` when the sign-in fails."""
    from longhaul.client.kubeconfig import has_kubelogin, kubeconfig, kubelogin, own_plugin
    from longhaul.client.sign_in import token_of

    issuer = profile.issuer(options.issuer)
    kept, path = folder / KEPT, folder / "login.kubeconfig"
    write_private(kept, profile.text())
    if has_kubelogin() and not options.no_kubelogin:
        say("kubelogin signs in when kubectl first needs it")
        user = kubelogin(issuer, profile.place(), device=options.device)
    else:
        token_of(issuer, profile.place(), device=options.device, may_ask=True)
        user = own_plugin(kept, issuer=options.issuer, device=options.device)
    write_private(path, json.dumps(kubeconfig(profile, user), indent=2) + "\n")
    return path
