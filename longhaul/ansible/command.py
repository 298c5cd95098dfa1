"""``longhaul ansible``: run a playbook on the environment's gateways and hosts."""

from __future__ import annotations

import argparse
import os

from longhaul.engine.change import exit_code
from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation

HELP = "run ansible-playbook on gateways and hosts; its arguments go after --, and the default playbook is site.yml"
REST = "ANSIBLE_OPTION"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: ``ansible`` has no options."""


def run(invocation: Invocation) -> int:
    """Run Ansible with the environment's inventory."""
    from longhaul.racks.playbook import run_playbook

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)
    return exit_code(run_playbook(where, environment, invocation.rest, os.environ))
