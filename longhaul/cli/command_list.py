"""The list of commands: their names, grouped by task."""

from __future__ import annotations

import argparse
from typing import Protocol

from longhaul.project.invocation import Invocation


class Command(Protocol):
    """Interface of each module ``longhaul/<command>/command.py``."""

    HELP: str
    TAKES_REST: bool

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare the command's own options."""

    def run(self, invocation: Invocation, /) -> int:
        """Run the command and return its exit code."""


OF_EXAMPLES = ("show", "validate", "plan")
"""Commands that need only a file, and so accept ``--example``."""


def groups() -> dict[str, dict[str, Command]]:
    """Return the commands by name, grouped by task, in the order of ``--help``."""
    from longhaul.acceptance import command as acceptance
    from longhaul.access import command as access
    from longhaul.ansible import command as ansible
    from longhaul.autoscaler import command as autoscaler
    from longhaul.backups import command as backups
    from longhaul.capacity import command as capacity
    from longhaul.depot import command as depot
    from longhaul.destroy import command as destroy
    from longhaul.doctor import command as doctor
    from longhaul.hosts import command as hosts
    from longhaul.image import command as image
    from longhaul.init import command as init
    from longhaul.kubeconfig import command as kubeconfig
    from longhaul.login import command as login
    from longhaul.machine import command as machine
    from longhaul.plan import command as plan
    from longhaul.prices import command as prices
    from longhaul.restore import command as restore
    from longhaul.review import command as review
    from longhaul.roll import command as roll
    from longhaul.rotate import command as rotate
    from longhaul.shell import command as shell
    from longhaul.show import command as show
    from longhaul.status import command as status
    from longhaul.up import command as up
    from longhaul.validate import command as validate
    from longhaul.vpn import command as vpn

    return {
        "try": {"show": show, "acceptance": acceptance},
        "declare": {"init": init, "validate": validate, "prices": prices, "doctor": doctor},
        "run": {
            "image": image,
            "depot": depot,
            "up": up,
            "hosts": hosts,
            "ansible": ansible,
            "autoscaler": autoscaler,
            "restore": restore,
            "destroy": destroy,
        },
        "change": {
            "plan": plan,
            "review": review,
            "roll": roll,
            "rotate": rotate,
            "machine": machine,
            "access": access,
        },
        "understand": {
            "status": status,
            "capacity": capacity,
            "backups": backups,
            "login": login,
            "vpn": vpn,
            "kubeconfig": kubeconfig,
            "shell": shell,
        },
    }


def commands() -> dict[str, Command]:
    """Return every command by name."""
    return {name: command for group in groups().values() for name, command in group.items()}


def listing() -> str:
    """Return a line for each command: its task, its name, and its purpose."""
    lines = []
    for task, group in groups().items():
        for index, (name, command) in enumerate(group.items()):
            lines.append(f"  {'' if index else task:<11} {name:<11} {command.HELP.split(';')[0]}")
    return "\n".join(lines)
