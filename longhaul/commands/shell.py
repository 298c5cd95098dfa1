"""``longhaul shell``: a shell, or one command, on one of the environment's machines."""

from __future__ import annotations

import argparse

from longhaul.cli import Invocation
from longhaul.context import context
from longhaul.exits import CommandError, Exit
from longhaul.lab_seam import lab_down, require_cloud

HELP = "open a shell on a machine, or run the command after --; its exit code is passed on"
TAKES_REST = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``shell``."""
    parser.add_argument("machine", metavar="MACHINE", help="the machine's name, such as lab-etcd-0")


def run(invocation: Invocation) -> int:
    """Hand over to the lab, the only place yet where machines can be reached."""
    from components.model import control_machines, plan

    where = context(invocation)
    environment = where.project.load(where.env)
    names = [machine.name for machine in control_machines(environment, plan(environment))]
    machine = invocation.options.machine
    if machine not in names:
        raise CommandError(f"{where.env} has no machine {machine!r}; it has: {', '.join(names)}", code=Exit.USAGE)
    if where.lab is None:
        require_cloud(environment)
        raise CommandError(
            f"{where.env} is no lab of this machine, and its machines have no public address. `longhaul tunnel`, which "
            f"goes through the cloud's bastion, is not there yet: use `az network bastion ssh` to {machine}.",
            code=Exit.UNREACHABLE,
        )
    if not where.lab.is_up():
        raise lab_down(where.env)
    where.lab.shell(machine, invocation.rest)
