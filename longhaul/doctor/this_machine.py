"""Checks of this machine: whether it resolves the clouds' names, and whether it can ask the outside."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlsplit

from clouds.base.findings import Finding, NotAskedError, ok, problem, unknown
from clouds.base.local_machine import LocalMachine
from clouds.registry import clouds
from longhaul.doctor.target import DoctorTarget

ANSWER_S = 10.0
"""Time limit for a cloud's answer with its time, seconds."""


def local_machine() -> LocalMachine:
    """Return the functions that really ask the outside."""
    return LocalMachine(
        resolve=lambda name: socket.getaddrinfo(name, 443, type=socket.SOCK_STREAM),
        date=_date,
        now=lambda: datetime.now(UTC),
        proxied=_proxied,
    )


def _date(url: str) -> str:
    """Return the server's time. An origin server with a clock sends it with every answer, even with a refusal (RFC
    9110, 6.6.1)."""
    import requests

    try:
        answer = requests.head(url, timeout=ANSWER_S, allow_redirects=False)
    except requests.RequestException as error:
        raise NotAskedError(f"{url} does not answer: {type(error).__name__}") from None
    return answer.headers.get("Date", "")


def _proxied(url: str) -> bool:
    from requests.utils import get_environ_proxies

    proxies = get_environ_proxies(url)
    return bool(proxies.get(urlsplit(url).scheme) or proxies.get("all"))


def addresses(target: DoctorTarget, here: LocalMachine) -> dict[str, tuple[str, ...]]:
    """Return the required addresses of the clouds, each with the sites that need it."""
    by_url: dict[str, tuple[str, ...]] = {}
    for kind, cloud in clouds().items():
        for url, sites in cloud.doctor.services(target.share(kind, here)).items():
            by_url[url] = (*by_url.get(url, ()), *sites)
    return by_url


def dns(target: DoctorTarget, here: LocalMachine) -> Iterator[Finding]:
    """Check that the clouds' names have addresses."""
    good = 0
    for url, sites in addresses(target, here).items():
        name, where = str(urlsplit(url).hostname), (target.at("sites", site) for site in sites)
        if here.proxied(url):
            what = "names of the clouds were not looked up: a proxy is set, and it resolves them"
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
