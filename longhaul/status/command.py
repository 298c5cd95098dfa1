"""``longhaul status``: show machines, etcd clusters, API servers, gateways, links, nodes and add-ons, each with a
verdict."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment

HELP = "show machines, etcd, API servers, gateways, links, nodes and add-ons; each with a verdict and its reason"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``status``."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """Ask, judge and show. Return exit code 0 only when everything is healthy."""
    from components.model import control_machines, plan

    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)

    from longhaul.racks.ssh import prepare
    from longhaul.report.text import wants_colour
    from longhaul.status.collection import collect
    from longhaul.status.ssh_probes import probe_all
    from longhaul.status.text import to_json, to_text
    from longhaul.status.verdicts import judge

    machines = control_machines(environment, plan(environment))
    reach = prepare(where, environment, os.environ)
    observed = collect(
        environment,
        machines,
        identity=lambda: _identity(environment),
        knock=lambda asked: probe_all(asked, reach),
    )
    if not observed.cloud and not invocation.options.json:
        say(f"nothing of the control plane of {where.env} is in its cloud; `longhaul up --env {where.env}` makes it")
        return Exit.FAILED
    status = judge(environment, machines, observed, inside=where.lab is not None)
    print(to_json(status) if invocation.options.json else to_text(status, colour=wants_colour()))
    return Exit.OK if status.healthy else Exit.FAILED


def _identity(environment: Environment) -> dict[str, str] | None:
    """Return an administrator's certificate; None when the vault does not return it, since the rest can still be
    shown."""
    from longhaul.cluster.identity import fetch_identity

    try:
        return fetch_identity(environment)
    except CommandError:
        return None
