"""The command line: the list of commands, and the conversion of errors into a message and an exit code."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from longhaul.cli.completion import SHELLS
from longhaul.cli.examples import example_project
from longhaul.engine.failure import report
from longhaul.project.checkout import example_names
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit, help_text


class Command(Protocol):
    """Interface of each module ``longhaul/<command>/command.py``."""

    HELP: str
    TAKES_REST: bool

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare the command's own options."""

    def run(self, invocation: Invocation, /) -> int:
        """Run the command and return its exit code."""


OF_EXAMPLES = ("show", "validate", "plan")
"""Commands that need only a file, and so take an example as well."""


def groups() -> dict[str, dict[str, Command]]:
    """Return every command by name, by the task that it is for, in the order that ``--help`` shows."""
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
    """Return a line for each command: its task, its name, and what it does."""
    lines = []
    for task, group in groups().items():
        for index, (name, command) in enumerate(group.items()):
            lines.append(f"  {'' if index else task:<11} {name:<11} {command.HELP.split(';')[0]}")
    return "\n".join(lines)


def parser(first: str = "") -> argparse.ArgumentParser:
    """Return the parser of the command line. When ``first`` is a command, the other commands' options are left out:
    building them would slow down each start."""
    top = argparse.ArgumentParser(
        prog="longhaul",
        usage="longhaul COMMAND [--env E] [option …]     longhaul COMMAND --help",
        description="Build, look at and take down the cluster that an environment file describes:\n" + listing(),
        epilog=help_text(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="say the version and exit")
    shells = f"print a shell's script and exit: {', '.join(SHELLS)}"
    top.add_argument("--completion", choices=SHELLS, metavar="SHELL", help=shells)
    subparsers = top.add_subparsers(prog="longhaul", dest="command", metavar="COMMAND", help=argparse.SUPPRESS)
    known = commands()
    for name, command in known.items():
        if first in known and name != first:
            continue
        sub = subparsers.add_parser(
            name,
            help=command.HELP.split(";")[0],
            description=command.HELP[0].upper() + command.HELP[1:] + ".",
            epilog=help_text(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        default = os.environ.get("LONGHAUL_ENV")
        which = sub.add_mutually_exclusive_group()
        which.add_argument("--env", metavar="E", default=default, help="the environment (default: $LONGHAUL_ENV)")
        shown = f"in place of it an example: {', '.join(example_names())}" if name in OF_EXAMPLES else argparse.SUPPRESS
        which.add_argument("--example", metavar="NAME", help=shown)
        sub.add_argument("--project", metavar="DIR", help="the checkout (default: found from here upwards)")
        command.add_arguments(sub)
    return top


def parse(argv: Sequence[str]) -> Invocation:
    """Parse ``argv`` into an invocation; on wrong usage, exit with 2 and a message."""
    split = list(argv).index("--") if "--" in argv else len(argv)
    grammar = parser(*argv[:1])
    if argv and not argv[0].startswith("-") and argv[0] not in commands():
        grammar.exit(Exit.USAGE, f"longhaul {argv[0]}: no such command{_meant(argv[0], commands())}; longhaul --help\n")
    options, unknown = grammar.parse_known_args(argv[:split])
    if options.command is None:
        _answer(options, grammar)
        if argv:
            grammar.error(f"no COMMAND in: {' '.join(argv)}")
        grammar.print_help(sys.stderr)
        grammar.exit(Exit.USAGE)
    _take_late(options, unknown)
    if unknown:
        after = "; words for what it runs go after --" if commands()[options.command].TAKES_REST else ""
        meant = _meant(unknown[0], _options_of(options.command))
        grammar.error(f"unrecognized arguments: {' '.join(unknown)}{meant}{after}")
    rest = tuple(argv[split + 1 :])
    if rest and not commands()[options.command].TAKES_REST:
        grammar.error(f"{options.command} takes nothing after --")
    return Invocation(command=options.command, options=options, rest=rest, argv=tuple(argv))


def _answer(options: argparse.Namespace, grammar: argparse.ArgumentParser) -> None:
    """Answer what is asked of the program as a whole, and exit."""
    if options.version:
        from importlib.metadata import version

        print(f"longhaul {version('longhaul')}")
        grammar.exit(Exit.OK)
    if options.completion:
        from longhaul.cli.completion import script

        print(script(grammar, options.completion))
        grammar.exit(Exit.OK)


def _take_late(options: argparse.Namespace, unknown: list[str]) -> None:
    """Give a word that may be left out what stands behind an option: argparse has taken it for left out by then
    (github.com/python/cpython, issue 59317)."""
    own = argparse.ArgumentParser(add_help=False)
    commands()[options.command].add_arguments(own)
    for action in own._actions:
        may_be_left_out = not action.option_strings and action.nargs == "?" and action.choices is None
        if may_be_left_out and getattr(options, action.dest) is None and unknown and not unknown[0].startswith("-"):
            setattr(options, action.dest, unknown.pop(0))


def _options_of(command: str) -> list[str]:
    """Return the options of a command."""
    own = argparse.ArgumentParser(add_help=False)
    commands()[command].add_arguments(own)
    return ["--env", "--example", "--project", "--help", *own._option_string_actions]


def _meant(given: str, known: Iterable[str]) -> str:
    """Return a question about the known word that is most like ``given``; empty when none is."""
    from difflib import get_close_matches

    close = get_close_matches(given.partition("=")[0], list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, also when nobody can read the messages any more."""
    code = _main(argv)
    try:
        sys.stderr.flush()
    except OSError:
        # What is left to write would fail again at exit, and replace the code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code


def _main(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else argv
    try:
        invocation = parse(given)
        _quieten()
        with _located(invocation):
            return int(commands()[invocation.command].run(invocation))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone. Nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 - users never see a traceback
        return report(error)


@contextmanager
def _located(invocation: Invocation) -> Iterator[None]:
    """Let the command work on the example that it is asked for, in a project of its own that is gone afterwards."""
    options = invocation.options
    if options.example is None:
        yield
        return
    if invocation.command not in OF_EXAMPLES:
        raise CommandError(
            f"--example {options.example}: an example has no clouds and no hosts; {', '.join(OF_EXAMPLES)} take one",
            code=Exit.USAGE,
        )
    with example_project(options.example) as project:
        options.env, options.project = options.example, str(project.root)
        yield


def _quieten() -> None:
    """Silence Azure's library. It logs pages about each missing credential; the final error says the same in a line."""
    if os.environ.get("LONGHAUL_DEBUG") != "1":
        logging.getLogger("azure").setLevel(logging.CRITICAL)
