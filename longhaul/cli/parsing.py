"""The grammar of the command line, and error messages for wrong usage."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence

from longhaul.cli.command_list import COMMANDS, OF_EXAMPLES, command, listing
from longhaul.cli.completion import SHELLS
from longhaul.project.checkout import example_names
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import Exit, help_text

USAGE, COLUMNS = "usage: ", 80
"""Prefix of the usage, and the width in which it is shown."""
DESCRIPTION = "Build, inspect and take down the cluster that an environment file describes"


def parser(first: str = "") -> argparse.ArgumentParser:
    """Return the parser of the command line. When ``first`` is a command, the other commands are left out: importing
    them would slow down each start."""
    names = (first,) if first in COMMANDS else COMMANDS
    top = argparse.ArgumentParser(
        prog="longhaul",
        usage="longhaul COMMAND [--env E] [option …]     longhaul COMMAND --help",
        description=None if first in COMMANDS else f"{DESCRIPTION}:\n{listing()}",
        epilog=help_text(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    shells = f"print a shell's script and exit: {', '.join(SHELLS)}"
    top.add_argument("--completion", choices=SHELLS, metavar="SHELL", help=shells)
    subparsers = top.add_subparsers(prog="longhaul", dest="command", metavar="COMMAND", help=argparse.SUPPRESS)
    for name in names:
        module = command(name)
        sub = subparsers.add_parser(
            name,
            help=module.HELP.split(";")[0],
            description=module.HELP[0].upper() + module.HELP[1:] + ".",
            epilog=help_text(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        default = os.environ.get("LONGHAUL_ENV")
        which = sub.add_mutually_exclusive_group()
        which.add_argument("--env", metavar="E", default=default, help="the environment (default: $LONGHAUL_ENV)")
        shown = (
            f"an example instead of an environment: {', '.join(example_names())}"
            if name in OF_EXAMPLES
            else argparse.SUPPRESS
        )
        which.add_argument("--example", metavar="NAME", help=shown)
        sub.add_argument(
            "--project", metavar="DIR", help="the checkout (default: this folder, or the nearest checkout above it)"
        )
        module.add_arguments(sub)
        if module.REST:
            _show_rest(sub, module.REST)
    return top


def _show_rest(grammar: argparse.ArgumentParser, words: str) -> None:
    """Show in the usage that a command takes words after ``--``: argparse does not know them."""
    *lines, last = grammar.format_usage().removeprefix(USAGE).rstrip().splitlines()
    shown = f"[-- {words} ...]"
    indentation = " " * len(f"{USAGE}{grammar.prog} ")
    fits = len(last) + len(shown) < COLUMNS - (0 if lines else len(USAGE))
    rest = [f"{last} {shown}"] if fits else [last, f"{indentation}{shown}"]
    grammar.usage = "\n".join((*lines, *rest)).replace("%", "%%")


def parse(argv: Sequence[str]) -> Invocation:
    """Parse ``argv`` into an invocation; on wrong usage, exit with 2 and a message."""
    split = list(argv).index("--") if "--" in argv else len(argv)
    grammar = parser(*argv[:1])
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        grammar.exit(Exit.USAGE, f"longhaul {argv[0]}: no such command{_meant(argv[0], COMMANDS)}; longhaul --help\n")
    options, unknown = grammar.parse_known_args(argv[:split])
    if options.command is None:
        _answer(options, grammar)
        if argv:
            grammar.error(f"no COMMAND in: {' '.join(argv)}")
        grammar.print_help(sys.stderr)
        grammar.exit(Exit.USAGE)
    _take_late(options, unknown)
    if unknown:
        after = "; arguments for the program that it runs go after --" if command(options.command).REST else ""
        meant = _meant(unknown[0], _options_of(options.command))
        grammar.error(f"unrecognized arguments: {' '.join(unknown)}{meant}{after}")
    rest = tuple(argv[split + 1 :])
    if rest and not command(options.command).REST:
        grammar.error(f"{options.command} takes nothing after --")
    return Invocation(command=options.command, options=options, rest=rest, argv=tuple(argv))


def _answer(options: argparse.Namespace, grammar: argparse.ArgumentParser) -> None:
    """Answer options of the program as a whole, such as ``--version``, and exit."""
    if options.version:
        from importlib.metadata import version

        print(f"longhaul {version('longhaul')}")
        grammar.exit(Exit.OK)
    if options.completion:
        from longhaul.cli.completion import script

        print(script(grammar, options.completion))
        grammar.exit(Exit.OK)


def _take_late(options: argparse.Namespace, unknown: list[str]) -> None:
    """Give an optional positional argument the word that follows an option: argparse has already treated the argument
    as missing (github.com/python/cpython, issue 59317)."""
    grammar = argparse.ArgumentParser(add_help=False)
    command(options.command).add_arguments(grammar)
    for action in grammar._actions:
        may_be_left_out = not action.option_strings and action.nargs == "?" and action.choices is None
        if may_be_left_out and getattr(options, action.dest) is None and unknown and not unknown[0].startswith("-"):
            setattr(options, action.dest, unknown.pop(0))


def _options_of(name: str) -> list[str]:
    """Return the options of a command."""
    grammar = argparse.ArgumentParser(add_help=False)
    command(name).add_arguments(grammar)
    return ["--env", "--example", "--project", "--help", *grammar._option_string_actions]


def _meant(given: str, known: Iterable[str]) -> str:
    """Return a question with the known word that is most like ``given``; empty when none is similar."""
    from difflib import get_close_matches

    close = get_close_matches(given.partition("=")[0], list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
