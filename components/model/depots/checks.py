"""Checks of section ``depots``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from clouds.base.faults import Caution, Fault
from components.model.depots.section import key_fault
from components.model.environment import Environment
from components.model.secrets.authority_pem import authority_fault, last_days
from contract.reasons.plan import FileReason

WRITE_KEY = "what `gpg --export KEY | base64 --wrap=0` prints, of the key that signs depots"
WRITE_AUTHORITY = (
    "the authority's own certificate, which docs/depot.md makes, and below it the one that takes over from it"
)


def check_depots(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for a key that is not a public key, and for an authority that is not an authority's certificate.
    The fault shows neither value: it may be a private key."""
    key, authority = environment.depots.key, environment.depots.authority
    if key is not None and (wrong := key_fault(key)):
        yield Fault(at=("depots", "key"), wrong=wrong, write=WRITE_KEY)
    if authority is not None and (wrong := authority_fault(authority)):
        yield Fault(at=("depots", "authority"), wrong=wrong, write=WRITE_AUTHORITY)


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
