"""``longhaul login``: sign in with the company's identity provider, and write a kubeconfig."""

from __future__ import annotations

import argparse

from longhaul.client import login
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import Exit

HELP = login.HELP
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``login``."""
    login.add_arguments(parser, profile="instead of --env: a profile, which needs no checkout and no cloud")


def run(invocation: Invocation) -> int:
    """Sign in like the client's own ``login``, with the environment's profile or a profile from a file."""
    from longhaul.cluster.profile import profile_and_folder

    profile, folder = profile_and_folder(invocation)
    print(login.sign_in(profile, invocation.options, folder=folder))
    return Exit.OK
