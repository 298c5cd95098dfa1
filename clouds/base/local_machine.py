"""Network and clock of the machine that runs the command, and a check of that clock against a cloud's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from clouds.base.findings import Finding, NotAskedError, ok, problem, warning
from contract.lifetimes import CLOCK_SKEW

OFF = timedelta(seconds=60)
"""Difference above which the user is warned about the clock."""


@dataclass(frozen=True, kw_only=True)
class LocalMachine:
    """Functions through which checks use this machine's network and clock."""

    resolve: Callable[[str], object]
    """Looks up the addresses of a name; raises ``socket.gaierror``."""
    date: Callable[[str], str]
    """Returns the ``Date`` header of a URL's answer, empty when it has none; raises ``NotAskedError``."""
    now: Callable[[], datetime]
    """Returns the time of this machine's clock, in UTC."""
    proxied: Callable[[str], bool]
    """Returns whether a URL is reached through a proxy."""


def clock(here: LocalMachine, url: str) -> Iterator[Finding]:
    """Compare this machine's clock with the clock of the server at ``url``, to a second."""
    before = here.now()
    header = here.date(url)
    after = here.now()
    try:
        theirs = parsedate_to_datetime(header).astimezone(UTC)
    except ValueError:
        raise NotAskedError(f"{url} answers without a date") from None
    # The header holds whole seconds, rounded down. The server wrote it between the two readings of this clock.
    early, late = before - theirs - timedelta(seconds=1), after - theirs
    off = max(early, timedelta(0)) or min(late, timedelta(0))
    name, words = (
        urlsplit(url).hostname,
        f"{abs(off.total_seconds()):.0f} s {'ahead of' if off > timedelta(0) else 'behind'}",
    )
    do = "set it by NTP (`timedatectl set-ntp true`)"
    if abs(off) > CLOCK_SKEW:
        yield problem(
            f"this machine's clock is {words} {name}: signatures and certificates fail", "this machine", do=do
        )
    elif abs(off) > OFF:
        yield warning(f"this machine's clock is {words} {name}", "this machine", do=do)
    else:
        yield ok(f"this machine's clock agrees with {name} to {OFF.total_seconds():.0f} s", "this machine")
