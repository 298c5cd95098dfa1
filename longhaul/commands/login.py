"""``longhaul login``: sign in by the company's own identity, and write a kubeconfig for it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client.files import config_folder, write_private
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.say import say

if TYPE_CHECKING:
    from longhaul.client.profile import Profile

HELP = "sign in by your company's identity; writes a kubeconfig and prints its path"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``login``."""
    parser.add_argument(
        "--profile",
        type=Path,
        metavar="FILE",
        help="in place of --env: a profile, which needs no checkout and no cloud",
    )
    parser.add_argument("--issuer", metavar="NAME", help="where to sign in, if the environment has several issuers")
    parser.add_argument("--device", action="store_true", help="sign in on another machine, by a code")
    parser.add_argument(
        "--no-kubelogin", action="store_true", help="have kubectl run this program's own part, though kubelogin is here"
    )


def run(invocation: Invocation) -> int:
    """Keep the profile, write the kubeconfig, and sign in, unless kubelogin does that at its first use."""
    from longhaul.client.errors import SignInError
    from longhaul.client.kubeconfig import has_kubelogin, kubeconfig, kubelogin, own_plugin
    from longhaul.client.sign_in import token_of

    options = invocation.options
    try:
        profile, folder = _profile(invocation)
        issuer = profile.issuer(options.issuer)
        kept, path = folder / "profile.json", folder / "login.kubeconfig"
        write_private(kept, profile.text())
        other = has_kubelogin() and not options.no_kubelogin
        if other:
            say("kubelogin signs in when kubectl first needs it")
            user = kubelogin(issuer, device=options.device)
        else:
            token_of(issuer, device=options.device, may_ask=True)
            user = own_plugin(kept, issuer=options.issuer, device=options.device)
    except SignInError as error:
        raise CommandError(str(error)) from None
    write_private(path, json.dumps(kubeconfig(profile, user), indent=2) + "\n")
    print(path)
    return Exit.OK


def _profile(invocation: Invocation) -> tuple[Profile, Path]:
    """Return the profile, from a file or of an environment, and the folder for what is kept of it."""
    if invocation.options.profile is not None:
        from longhaul.client.profile import read_profile

        profile = read_profile(invocation.options.profile)
        return profile, config_folder(profile.name)
    from datetime import UTC, datetime

    from longhaul.access.profile import profile_of
    from longhaul.context import context, enter_lab

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    port = where.lab.port() if where.lab else None
    folder = where.lab.folder if where.lab else config_folder(where.env)
    return profile_of(environment, lab_port=port, now=datetime.now(UTC)), folder
