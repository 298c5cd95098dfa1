"""The list of commands: their names, grouped by task."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Protocol, cast

from longhaul.project.invocation import Invocation

GROUPS: dict[str, tuple[str, ...]] = {
    "try": ("show", "acceptance"),
    "declare": ("init", "validate", "prices", "doctor"),
    "run": ("image", "depot", "up", "hosts", "ansible", "autoscaler", "restore", "destroy"),
    "change": ("plan", "review", "roll", "rotate", "machine", "access"),
    "understand": ("status", "capacity", "backups", "login", "vpn", "kubeconfig", "shell"),
}
"""Every command's name, by the task that it is for, in the order that ``--help`` shows."""

COMMANDS = tuple(name for names in GROUPS.values() for name in names)

OF_EXAMPLES = ("show", "validate", "plan")
"""Commands that need only a file, and so accept ``--example``."""


class Command(Protocol):
    """Interface of each module ``longhaul/<command>/command.py``."""

    HELP: str
    REST: str
    """Name of the words after ``--`` in the usage; empty for a command that takes none."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare the command's own options."""

    def run(self, invocation: Invocation, /) -> int:
        """Run the command and return its exit code."""


def command(name: str) -> Command:
    """Return a command by its name. Only this command is imported, because importing all of them would slow down each
    start."""
    return cast("Command", import_module(f"longhaul.{name}.command"))


def listing() -> str:
    """Return a line for each command: its task, its name, and its purpose."""
    lines = []
    for task, names in GROUPS.items():
        for index, name in enumerate(names):
            lines.append(f"  {'' if index else task:<11} {name:<11} {command(name).HELP.split(';')[0]}")
    return "\n".join(lines)
