"""The command line of the client's own installation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType

from longhaul.client import login
from longhaul.client.capacity import command as capacity
from longhaul.client.vpn import command as vpn
from longhaul.terminal.exits import CommandError, Exit, help_text
from longhaul.terminal.say import say


def main(words: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    options = parser().parse_args(words)
    try:
        commands()[options.command].run(options)
    except CommandError as error:
        say(str(error))
        return error.code
    except OSError as error:
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return Exit.FAILED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    return Exit.OK


def commands() -> dict[str, ModuleType]:
    """Return the commands by name."""
    return {"login": login, "vpn": vpn, "capacity": capacity}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    shape = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(
        prog="longhaul",
        description="Sign in to a cluster, and reach it from here. The cluster's operator gives you a profile, which "
        "is one file.",
        epilog=help_text("login"),
        formatter_class=shape,
        allow_abbrev=False,
    )
    top.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    below = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in commands().items():
        subparser = below.add_parser(
            name,
            help=command.HELP.split(";")[0],
            description=f"{command.HELP[0].upper()}{command.HELP[1:]}.",
            epilog=help_text(name),
            formatter_class=shape,
            allow_abbrev=False,
        )
        command.add_arguments(subparser)
    return top


class _Version(argparse.Action):
    """Prints the version; the module that reads it is loaded only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_words: object, **_more: object) -> None:
        from importlib.metadata import version

        print(f"longhaul-client {version('longhaul-client')}")
        parser.exit(Exit.OK)


if __name__ == "__main__":
    sys.exit(main())
