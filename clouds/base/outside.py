"""This machine, as clouds see it: how what is outside is asked, and whether its clock agrees with theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from clouds.base.findings import Finding, NotAskedError, ok, problem, warning

OFF = timedelta(seconds=60)
"""Beyond this somebody should look after the clock."""

WRONG = timedelta(minutes=5)
"""Beyond this, certificates made here may not be valid yet where they are used (``CLOCK_SKEW``,
components/control_plane/issuing.py)."""


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What this machine is asked with."""

    resolve: Callable[[str], object]
    """Addresses of a name; ``socket.gaierror``."""
    date: Callable[[str], str]
    """The ``Date`` that an address answers with, empty when it has none; ``NotAskedError``."""
    now: Callable[[], datetime]
    """This machine's clock, in UTC."""
    proxied: Callable[[str], bool]
    """Whether an address is asked through a proxy."""


def clock(here: Outside, url: str) -> Iterator[Finding]:
    """This machine's clock against the one that answers at ``url``, to a second."""
    before = here.now()
    said = here.date(url)
    after = here.now()
    try:
        theirs = parsedate_to_datetime(said).astimezone(UTC)
    except ValueError:
        raise NotAskedError(f"{url} answers without a date") from None
    # A whole second is written as its beginning; the answer was made between the two looks here.
    early, late = before - theirs - timedelta(seconds=1), after - theirs
    off = max(early, timedelta(0)) or min(late, timedelta(0))
    name, words = (
        urlsplit(url).hostname,
        f"{abs(off.total_seconds()):.0f} s {'ahead of' if off > timedelta(0) else 'behind'}",
    )
    do = "have it set by NTP (`timedatectl set-ntp true`)"
    if abs(off) > WRONG:
        yield problem(
            f"this machine's clock is {words} {name}: signatures and certificates fail", "this machine", do=do
        )
    elif abs(off) > OFF:
        yield warning(f"this machine's clock is {words} {name}", "this machine", do=do)
    else:
        yield ok(f"this machine's clock agrees with {name} to {OFF.total_seconds():.0f} s", "this machine")
