"""``longhaul shell``: open a shell, or run one command, on one of the environment's machines."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from longhaul.project.context import context
from longhaul.project.invocation import Invocation
from longhaul.project.lab_seam import lab_down, require_cloud
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

HELP = "open a shell on a machine, or run the command after --; its exit code is passed on"
REST = "COMMAND"

OF_CONTROL_PLANE = "Go through a bastion of Azure's, if you have made one: `az network bastion ssh` to {machine}."
OF_POOL = (
    "While its kubelet runs, an administrator reaches the node of {machine} by `kubectl debug node/NODE "
    "--profile=sysadmin -it --image=IMAGE`; otherwise end the machine, and its group makes another."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``shell``."""
    parser.add_argument("machine", metavar="MACHINE", help="the machine's name, such as lab-etcd-0")


def run(invocation: Invocation) -> int:
    """Enter the lab's machine, or use SSH for gateways and hosts. Other machines of a real environment cannot be
    reached."""
    from components.model import control_machines, plan
    from longhaul.racks.inventory import machines

    where = context(invocation)
    environment = where.project.load(where.env)
    addresses = plan(environment)
    reached = {machine.name: machine for machine in machines(environment, addresses, and_quarantined=True)}
    names = [*(machine.name for machine in control_machines(environment, addresses)), *reached]
    machine = invocation.options.machine
    if machine not in names and not _of_a_pool(machine, environment):
        raise CommandError(f"{where.env} has no machine {machine!r}; it has: {', '.join(names)}", code=Exit.USAGE)
    if where.lab is not None:
        if not where.lab.is_up():
            raise lab_down(where.env)
        where.lab.shell(machine, invocation.rest)
    require_cloud(environment)
    if machine in reached:
        from longhaul.racks.ssh import prepare, ssh

        ssh(reached[machine], prepare(where, environment, os.environ), invocation.rest)
    raise CommandError(
        f"{where.env} is no lab of this machine, and machines in clouds have no public address. "
        + (OF_CONTROL_PLANE if machine in names else OF_POOL).format(machine=machine),
        code=Exit.UNREACHABLE,
    )


def _of_a_pool(machine: str, environment: Environment) -> bool:
    """Return whether the name may belong to a pool's machine: the machine's cloud chooses its name."""
    from clouds.registry import cloud_of
    from components.model.sites.places import place_of

    places = [place_of(environment, site) for site in environment.sites]
    return any(cloud_of(place.site).groups.may_name(place, pool, machine) for place in places for pool in place.pools)
