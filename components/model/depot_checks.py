"""Checks of what the file says of depots."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.caution import Caution
from clouds.base.fault import Fault
from components.model.depots import key_fault
from components.model.environment import Environment

WRITE_KEY = "what `gpg --export KEY | base64 --wrap=0` prints, of the key that signs depots"


def check_depots(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for a key that is no public key. It is not shown: it may be a private one."""
    key = environment.depots.key
    if key is not None and (wrong := key_fault(key)):
        yield Fault(at=("depots", "key"), wrong=wrong, write=WRITE_KEY)


def depot_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each site's depot that nobody signs for. Earlier releases took what such depots served, and
    files with them stay valid."""
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
