"""Shell scripts that complete the command line. They are static: TAB starts no Python (shtab,
https://docs.iterative.ai/shtab/)."""

from __future__ import annotations

import argparse

from longhaul.project.checkout import example_names

SHELLS = ("bash", "zsh", "fish")

ENVIRONMENTS = r"ls stacks 2>/dev/null | sed -n '/-objects\.yaml/d; s/^Pulumi\.\([a-z0-9-]*\)\.yaml$/\1/p'"
"""Shell command that prints the names of the environments, in the checkout's top folder. Bash expands its output, so
files with other characters in their names are left out."""


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script for ``shell``, one of :data:`SHELLS`."""
    import shtab

    for action in _options(parser):
        if "--env" in action.option_strings:
            action.complete = shtab.cmd(ENVIRONMENTS)  # type: ignore[attr-defined]
        elif "--example" in action.option_strings:
            action.complete = shtab.cmd(f"echo {' '.join(example_names())}")  # type: ignore[attr-defined]
        elif action.metavar == "FILE":
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "DIR":
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell=shell))


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return every option of a parser and of its subcommands."""
    options: list[argparse.Action] = []
    for action in parser._actions:
        options.append(action)
        if isinstance(action, argparse._SubParsersAction):
            action.help = "command"  # The listing of `--help` shows this option itself, so argparse suppresses it
            for command in action.choices.values():
                options += _options(command)
    return options
