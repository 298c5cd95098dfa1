"""Types of options that several commands take, for argparse."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from datetime import timedelta

MAX_REMOVED = 0.1
"""Default for the largest share of the nodes that may be removed at once. A tenth is our own choice."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SHARE = re.compile(r"([0-9]+)(%?)")


@dataclass(frozen=True, kw_only=True)
class MachineShare:
    """A number of machines, or a percentage of all."""

    number: int
    percent: bool

    def of(self, total: int) -> int:
        """Return the share of ``total``, rounded down."""
        return total * self.number // 100 if self.percent else self.number


def duration(text: str) -> timedelta:
    """Parse ``90s``, ``30m``, ``6h`` or ``2d``. Raise an argument error for anything else."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: 90s, 30m, 6h or 2d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def share(text: str) -> MachineShare:
    """Parse ``N`` or ``N%`` of the machines. Raise an argument error for anything else."""
    match = _SHARE.fullmatch(text)
    if not match or (match[2] and int(match[1]) > 100):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of hosts nor a percentage: 3, or 10%")
    return MachineShare(number=int(match[1]), percent=bool(match[2]))


def some(text: str) -> MachineShare:
    """Parse a share like :func:`share`, but refuse zero."""
    portion = share(text)
    if portion.number == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no machine: at least one, 1 or 1%")
    return portion


def add_max_removed(parser: argparse.ArgumentParser) -> None:
    """Add the option that allows more nodes to be removed at once than by default."""
    parser.add_argument(
        "--max-removed",
        metavar="PERCENT",
        type=percent,
        default=MAX_REMOVED,
        help="nodes that may be removed at once, percent of the pools' maximum and of the hosts "
        f"(default: {MAX_REMOVED * 100:.0f})",
    )


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add ``--verbose`` to a command that otherwise writes the engine's and Ansible's output into a log."""
    parser.add_argument(
        "--verbose", action="store_true", help="show all output of the engine and Ansible, instead of logging it"
    )


def add_offline(parser: argparse.ArgumentParser) -> None:
    """Add ``--offline`` to a command that otherwise fetches provider plugins that are missing."""
    parser.add_argument(
        "--offline", action="store_true", help="fetch no provider plugin of the engine that is missing here"
    )


def percent(text: str) -> float:
    """Convert a percentage such as ``10`` or ``2.5%`` to a share between 0 and 1."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return percent / 100
