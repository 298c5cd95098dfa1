"""``longhaul capacity``: show teams' guarantees, use and waiting jobs, and the nodes of pools."""

from __future__ import annotations

import argparse
import os

from longhaul.client.capacity import show
from longhaul.client.capacity.show import HELP
from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import Exit

__all__ = ["HELP", "REST", "add_arguments", "run"]

REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``capacity``."""
    show.add_options(parser)


def run(invocation: Invocation) -> int:
    """Show capacity, with an administrator's certificate."""
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)

    from longhaul.cluster.api_access import api_of

    with api_of(where, environment, os.environ) as api:
        show.show(api, invocation.options)
    return Exit.OK
