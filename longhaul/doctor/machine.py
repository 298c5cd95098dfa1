"""This machine: does it find the clouds by name, and does its clock agree with theirs."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from clouds.azure.session import MANAGEMENT
from clouds.base.findings import Finding, NotAskedError, ok, problem, unknown, warning
from longhaul.doctor.aws import endpoints
from longhaul.doctor.subject import Subject

SIGN_IN = "https://login.microsoftonline.com"
"""Where Azure's tokens come from."""

AWS_SERVICES = ("sts", "ec2", "autoscaling", "iam")
"""Services of AWS that are needed in each region."""

OFF = timedelta(seconds=60)
"""Beyond this somebody should look after the clock."""

WRONG = timedelta(minutes=5)
"""Beyond this, certificates made here may not be valid yet where they are used (``CLOCK_SKEW``,
components/control_plane/issuing.py)."""

ANSWER_S = 10.0
"""How long a cloud may take to tell the time, seconds."""


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


def outside() -> Outside:
    """The real ones."""
    return Outside(
        resolve=lambda name: socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM),
        date=_date,
        now=lambda: datetime.now(UTC),
        proxied=_proxied,
    )


def _date(url: str) -> str:
    """RFC 9110, 6.6.1: an origin server with a clock tells the time with every answer, a refusal too."""
    import requests

    try:
        answer = requests.head(url, timeout=ANSWER_S, allow_redirects=False)
    except requests.RequestException as error:
        raise NotAskedError(f"{url} does not answer: {type(error).__name__}") from None
    return answer.headers.get("Date", "")


def _proxied(url: str) -> bool:
    from requests.utils import get_environ_proxies

    found = get_environ_proxies(url)
    return bool(found.get(urlsplit(url).scheme) or found.get("all"))


def addresses(subject: Subject) -> dict[str, tuple[str, ...]]:
    """What is needed of the clouds, and the sites that need it."""
    found: dict[str, tuple[str, ...]] = {}
    if any(site.kind == "azure" for site in subject.environment.sites.values()):
        azure = tuple(name for name, site in subject.environment.sites.items() if site.kind == "azure")
        found |= dict.fromkeys((MANAGEMENT, SIGN_IN), azure)
    regions = subject.aws_regions()
    for region, urls in endpoints(AWS_SERVICES, regions).items():
        for url in urls:
            found[url] = (*found.get(url, ()), *regions[region])
    return found


def dns(subject: Subject, here: Outside) -> Iterator[Finding]:
    """Whether the clouds' names have addresses."""
    good = 0
    for url, sites in addresses(subject).items():
        name, where = str(urlsplit(url).hostname), subject.sites(*sites)
        if here.proxied(url):
            what = "names of the clouds were not looked up: a proxy is set, and it does that"
            yield unknown(what, "HTTPS_PROXY and NO_PROXY of this machine")
            continue
        try:
            here.resolve(name)
        except socket.gaierror as error:
            # "The name server returned a temporary failure indication" (getaddrinfo(3)).
            if error.errno == socket.EAI_AGAIN:
                do = "see that this machine has a name server, or set HTTPS_PROXY"
                yield unknown(f"no name server answers for {name}", "/etc/resolv.conf of this machine", do=do)
            else:
                do = "ask whoever runs this machine's name server; a private zone may hide the public one"
                yield problem(f"{name} has no address here: {error.strerror}", *where, do=do)
        else:
            good += 1
    if good:
        yield ok(f"{good} names of the clouds have addresses", "this machine")


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
