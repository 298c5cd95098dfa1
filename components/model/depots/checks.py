"""Checks of what the file says of depots."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from clouds.base.faults import Caution, Fault
from components.model.depots.section import key_fault
from components.model.environment import Environment
from components.model.secrets.authority_pem import authority_fault, last_days

WRITE_KEY = "what `gpg --export KEY | base64 --wrap=0` prints, of the key that signs depots"
WRITE_AUTHORITY = (
    "the authority's own certificate, which docs/depot.md makes, and below it the one that takes over from it"
)


def check_depots(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for a key that is no public key, and for an authority that is none. Neither is shown: it may be a
    private key."""
    key, authority = environment.depots.key, environment.depots.authority
    if key is not None and (wrong := key_fault(key)):
        yield Fault(at=("depots", "key"), wrong=wrong, write=WRITE_KEY)
    if authority is not None and (wrong := authority_fault(authority)):
        yield Fault(at=("depots", "authority"), wrong=wrong, write=WRITE_AUTHORITY)


def depot_cautions(environment: Environment, today: date) -> Iterator[Caution]:
    """Yield the doubts about depots. Files with them stay valid: what runs needs no depot, and an authority ends by
    itself."""
    for name, site in environment.sites.items():
        if site.depot is not None and environment.depots.key is None:
            yield Caution(
                name="unsigned-depot",
                at=("sites", name, "depot"),
                basis=(("depots",),),
                site=name,
                wrong="nobody signs for what it serves: roles take nothing from it, and nodes any image that it shows",
                write="`depots.key`, and sign it: `longhaul depot build --sign KEY` (docs/depot.md)",
                refused=True,
            )
        if site.depot is not None and site.depot.startswith("http://"):
            yield Caution(
                name="plain-depot",
                at=("sites", name, "depot"),
                site=name,
                wrong="in plain HTTP, who is on the way sees what is installed, can withhold it or show an older depot",
                write="`https://…`, and the authority of its certificate as `depots.authority` (docs/depot.md)",
                refused=True,
            )
    yield from _ended(environment.depots.authority, today)


def _ended(authority: str | None, today: date) -> Iterator[Caution]:
    """Yield a caution for each certificate that ended before ``today``."""
    for number, last in enumerate(last_days(authority) if authority else (), 1):
        if last < today:
            yield Caution(
                name=f"ended-depot-authority-{number}",
                at=("depots", "authority"),
                wrong=f"its certificate number {number} ended on {last}: no machine believes a server by it",
                write="the authority that has taken over, alone (docs/depot.md)",
                refused=True,
            )
