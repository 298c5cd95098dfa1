"""Checks of section ``depots``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from clouds.base.faults import Caution, Fault, Location
from components.model.depots.section import key_fault
from components.model.environment import Environment
from components.model.network.address_plan import plan
from components.model.network.site_ranges import plan_errors
from components.model.secrets.authority_pem import admits, authority_fault, last_days
from contract.reasons.plan import FileReason

WRITE_KEY = "what `gpg --export KEY | base64 --wrap=0` prints, of the key that signs depots"
WRITE_AUTHORITY = (
    "the authority's own certificate, which docs/depot.md makes, and below it the one that takes over from it"
)

WRITE_SERVER = "an address outside the supernet, or one of the site's node range that no host has"


def check_depots(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for a key that is not a public key, and for an authority that is not an authority's certificate.
    The fault shows neither value: it may be a private key."""
    key, authority = environment.depots.key, environment.depots.authority
    if key is not None and (wrong := key_fault(key)):
        yield Fault(at=("depots", "key"), wrong=wrong, write=WRITE_KEY)
    if authority is not None and (wrong := authority_fault(authority)):
        yield Fault(at=("depots", "authority"), wrong=wrong, write=WRITE_AUTHORITY)
    for name, site in environment.sites.items():
        if site.depot is not None:
            yield from _server(environment, name, site.depot)


def _server(environment: Environment, site: str, depot: str) -> Iterator[Fault]:
    """Yield a fault for a depot at an address that the plan gives to pods, Services or laptops, or that the site's
    machines cannot reach, and for one for which `depots.authority` may not sign."""
    at: Location = ("sites", site, "depot")
    scheme, host = urlsplit(depot).scheme, urlsplit(depot).hostname or ""
    authority = environment.depots.authority
    if scheme == "https" and authority is not None and not admits(authority, host):
        wrong = f"`depots.authority` may not sign for {host}: its name constraints leave it out"
        write = "a name that it may sign for, or the certificate of an authority that may (docs/depot.md)"
        yield Fault(at=at, wrong=wrong, write=write, basis=(("depots", "authority"),))
    try:
        address = IPv4Address(host)
    except ValueError:
        if host == "localhost" or host.endswith(".localhost"):
            yield Fault(at=at, wrong=f"{host} is each machine itself", write="the depot's server, from each machine")
        return
    if address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified:
        yield Fault(at=at, wrong=f"{address} is no server that other machines reach", write="the depot's own address")
    if plan_errors(environment):
        return
    addresses = plan(environment)
    ranges = {
        **{f"pods of {name}": ranges.pods for name, ranges in addresses.sites.items()},
        "Services": addresses.services,
        "laptops": addresses.laptops,
    }
    for owner, range_ in ranges.items():
        if address in range_:
            basis: tuple[Location, ...] = (("supernet",), ("sites", "[key]"))
            yield Fault(at=at, wrong=f"{address} is in {range_}, the range of {owner}", write=WRITE_SERVER, basis=basis)


def depot_cautions(environment: Environment, today: date) -> Iterator[Caution]:
    """Yield cautions about depots. They do not make the file invalid: running machines need no depot, and a certificate
    may expire without a change of the file."""
    for name, site in environment.sites.items():
        if site.depot is not None and environment.depots.key is None:
            yield Caution(
                reason=FileReason.DEPOT_UNSIGNED,
                at=("sites", name, "depot"),
                basis=(("depots",),),
                site=name,
                wrong="its files are not signed: roles refuse them, and nodes accept any image from it",
                write="`depots.key`, and sign it: `longhaul depot build --sign KEY` (docs/depot.md)",
                refused=True,
            )
        if site.depot is not None and site.depot.startswith("http://"):
            yield Caution(
                reason=FileReason.DEPOT_PLAIN,
                at=("sites", name, "depot"),
                site=name,
                wrong="over plain HTTP, anybody on the path sees what is installed, and can withhold it or serve an "
                "older depot",
                write="`https://…`, and the authority of its certificate as `depots.authority` (docs/depot.md)",
                refused=True,
            )
    yield from _ended(environment.depots.authority, today)


def _ended(authority: str | None, today: date) -> Iterator[Caution]:
    """Yield a caution for each certificate that expired before ``today``."""
    for number, last in enumerate(last_days(authority) if authority else (), 1):
        if last < today:
            yield Caution(
                reason=FileReason.DEPOT_AUTHORITY_ENDED,
                about=str(number),
                at=("depots", "authority"),
                wrong=f"its certificate number {number} ended on {last}: no machine trusts a server because of it",
                write="only the authority that has taken over (docs/depot.md)",
                refused=True,
            )
