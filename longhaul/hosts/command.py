"""``longhaul hosts``: turn gateways and bare-metal hosts from a bare system into tunnels and Ready nodes."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from longhaul.project.context import context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import share, some
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from longhaul.racks.verdicts import HostResults

HELP = "turn gateways and hosts from bare systems into Ready nodes; each gets a verdict"
REST = "ANSIBLE_OPTION"
SCAN_KEYS = "scan-keys"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hosts``."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=(SCAN_KEYS,),
        help="only read the machines' SSH host keys, show them, and pin those that are not pinned yet",
    )
    parser.add_argument("--limit", metavar="PATTERN", help="only hosts and groups that match, by Ansible's rules")
    parser.add_argument("--preflight", action="store_true", help="change nothing; report every fault of each host")
    parser.add_argument("--check", action="store_true", help="change nothing; show what would change")
    parser.add_argument("--diff", action="store_true", help="show how files change")
    parser.add_argument("--batch", metavar="N|N%", type=some, help="number of nodes at a time, after the gateways")
    parser.add_argument(
        "--budget", metavar="N|N%", type=share, help="number of hosts that may fail before the run stops (0)"
    )
    parser.add_argument("--profile", action="store_true", help="also show the slowest tasks")
    parser.add_argument("--yes", "-y", action="store_true", help=f"{SCAN_KEYS}: pin without asking, once compared")
    parser.add_argument("--json", action="store_true", help="for programs; Ansible's output goes to stderr")


def run(invocation: Invocation) -> int:
    """Choose the hosts, run Ansible on them, and print a verdict for each. Return exit code 0 only when all are as
    declared."""
    options = invocation.options
    _require_sense(options)
    where = context(invocation)
    environment = where.project.load(where.env)

    from components.model import plan
    from longhaul.hosts.selection import batches, select
    from longhaul.racks.inventory import machines
    from longhaul.racks.playbook_runs import RunOptions, roll

    there = list(machines(environment, plan(environment)))
    if not there:
        raise CommandError(f"{where.env} has neither on-prem gateways nor hosts", code=Exit.USAGE)
    chosen = select(there, options.limit)
    if options.action == SCAN_KEYS:
        from longhaul.hosts.scan_keys import scan_keys

        enter_lab(where, environment, invocation)
        return scan_keys(where, environment, chosen, options)
    turns = batches(chosen, options.batch) if options.batch else [chosen]
    enter_lab(where, environment, invocation)
    words = [f"--{name}" for name in ("check", "diff") if getattr(options, name)]
    asked = RunOptions(
        words=[*words, *invocation.rest],
        look=options.preflight,
        budget=options.budget.of(len(chosen)) if options.budget else 0,
        stdout=sys.stderr.buffer if options.json else None,
    )
    account = roll(where, environment, turns, asked, os.environ, limited=len(chosen) < len(there))
    _show(where.env, account, options)
    return account.exit_code()


def _require_sense(options: argparse.Namespace) -> None:
    others = ("preflight", "check", "diff", "batch", "budget", "profile")
    wrong = [f"--{name}" for name in others if getattr(options, name)] if options.action else []
    if options.yes and not options.action:
        wrong = ["--yes"]
    if wrong:
        kind = f"{SCAN_KEYS} runs nothing" if options.action else "a run asks nothing"
        raise CommandError(f"{kind}: leave out {', '.join(wrong)}", code=Exit.USAGE)
    if options.budget and not options.batch:
        raise CommandError("--budget says when to stop between batches: give their size with --batch", code=Exit.USAGE)
    if options.preflight and (options.check or options.batch):
        raise CommandError(
            "--preflight looks at all hosts at once and changes nothing: leave --check and --batch out", code=Exit.USAGE
        )


def _show(env: str, account: HostResults, options: argparse.Namespace) -> None:
    from longhaul.racks.text import profile, to_json, to_text
    from longhaul.report.text import wants_colour

    mode = "preflight" if options.preflight else "check" if options.check else "run"
    if options.json:
        print(to_json(env, mode, account, profile=options.profile))
    else:
        print(f"\n{to_text(env, mode, account, colour=wants_colour())}")
        if options.profile and account.tasks:
            print(f"\n{profile(account)}")
    if account.unexplained:
        say(f"ansible-playbook ended with {account.unexplained}, though no host failed: its output says why")
    if account.interrupted:
        say("interrupted; another run continues")
