"""``longhaul vpn``: reach an environment's nodes, pods and Services from this machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from longhaul.client.vpn import command
from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from longhaul.client.vpn.session import Source

HELP = command.HELP
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``vpn``."""
    command.add_arguments(
        parser, profile="instead of an operator's --env: sign in with a profile, which needs no checkout and no cloud"
    )


def run(invocation: Invocation) -> int:
    """Connect: with a profile like the client, otherwise with an operator's admission from the environment's vault."""
    options = invocation.options
    name, source = _of_operator(invocation) if options.profile is None else _of_profile(invocation)
    command.connect(name, source, options)
    return Exit.OK


def _of_profile(invocation: Invocation) -> tuple[str, Source]:
    from longhaul.cluster.profile import profile_and_folder

    profile, _ = profile_and_folder(invocation)
    return profile.name, command.signed_in_admissions(profile, invocation.options)


def _of_operator(invocation: Invocation) -> tuple[str, Source]:
    from longhaul.vpn.operator_vpn import from_vault

    options = invocation.options
    if options.issuer or options.device or options.replace:
        raise CommandError(
            "--issuer, --device and --replace go with --profile; with --env, the vault authorizes the operator",
            code=Exit.USAGE,
        )
    where = context(invocation)
    environment = where.project.load(where.env)
    source = from_vault(environment)
    enter_lab(where, environment, invocation)
    return where.env, source
