"""Shows capacity, once or repeatedly, with the caller's identity."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from contract.kubernetes.api import ApiReader

HELP = "show each team's guarantee, use and waiting jobs, and the pools' nodes; --watch repeats it"
EVERY_S = 10.0
"""Seconds between two looks. Each look lists everything that the person may see."""
CLEAR = "\033[H\033[2J"
"""Escape sequences that clear a terminal."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``capacity`` that do not choose the cluster."""
    parser.add_argument("--watch", action="store_true", help=f"repeat every {EVERY_S:.0f} s, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="for programs; with --watch, one line a look")


def show(api: ApiReader, options: argparse.Namespace) -> None:
    """Look and print; with ``--watch``, repeat until interrupted. Raise ``CommandError`` when the API refuses, or does
    not answer the first time."""
    from contract.kubernetes.connection import ApiError

    shown = False
    while True:
        try:
            text = _look(api, as_json=options.json, one_line=options.watch)
        except ApiError as error:
            if not (options.watch and shown and error.passing):
                code = Exit.UNREACHABLE if error.passing else Exit.FAILED
                raise CommandError(str(error), code=code) from None
            say(f"{error}; looking again")
        else:
            shown = True
            clear = CLEAR if options.watch and not options.json and sys.stdout.isatty() else ""
            print(clear + text, flush=True)
        if not options.watch:
            return
        time.sleep(EVERY_S)


def _look(api: ApiReader, *, as_json: bool, one_line: bool) -> str:
    from longhaul.client.capacity.reader import CapacityReader
    from longhaul.client.capacity.text import to_plain, to_text

    capacity = CapacityReader(api).capacity()
    if not as_json:
        return to_text(capacity)
    return json.dumps(to_plain(capacity), indent=None if one_line else 2, ensure_ascii=False)
