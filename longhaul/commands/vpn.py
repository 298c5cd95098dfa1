"""``longhaul vpn``: reach an environment's nodes, pods and Services from this machine."""

from __future__ import annotations

import argparse

from longhaul.client.vpn import command
from longhaul.commands.login import profile_and_folder
from longhaul.exits import Exit
from longhaul.invocation import Invocation

HELP = command.HELP
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``vpn``."""
    command.add_arguments(parser, profile="in place of --env: a profile, which needs no checkout and no cloud")


def run(invocation: Invocation) -> int:
    """Connect, as the client alone does, with a profile from a file or of an environment."""
    profile, _ = profile_and_folder(invocation)
    command.connect(profile.name, command.signed_in(profile, invocation.options), invocation.options)
    return Exit.OK
