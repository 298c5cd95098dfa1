"""``longhaul login``: sign in by the company's own identity, and write a kubeconfig for it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.client import login
from longhaul.client.files import config_folder
from longhaul.client.options import KEPT, refuse_changed
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import Exit

if TYPE_CHECKING:
    from longhaul.client.profile import Profile

HELP = login.HELP
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``login``."""
    login.add_arguments(parser, profile="in place of --env: a profile, which needs no checkout and no cloud")


def run(invocation: Invocation) -> int:
    """Sign in, as the client alone does, with a profile from a file or of an environment."""
    profile, folder = profile_and_folder(invocation)
    print(login.sign_in(profile, invocation.options, folder=folder))
    return Exit.OK


def profile_and_folder(invocation: Invocation) -> tuple[Profile, Path]:
    """Return the profile, from a file or of an environment, and the folder for what is kept of it."""
    if invocation.options.profile is not None:
        from longhaul.client.profile import read_profile

        profile = read_profile(invocation.options.profile)
        folder = config_folder(profile.name)
        refuse_changed(profile, folder / KEPT, replace=invocation.options.replace)
        return profile, folder
    from datetime import UTC, datetime

    from longhaul.cluster.profile import profile_of
    from longhaul.project.context import context, enter_lab

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    lab = where.lab_with_port
    port = lab.port() if lab else None
    folder = lab.folder if lab else config_folder(where.env)
    return profile_of(environment, lab_port=port, now=datetime.now(UTC)), folder
