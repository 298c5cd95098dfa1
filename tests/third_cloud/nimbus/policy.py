"""Checks Nimbus's resources for breaches of a rule."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base import policy_rules
from clouds.base.inputs import shown
from clouds.base.place import Place
from clouds.base.policy import Breach, Check, Declared, Resource, unaccounted_address
from clouds.base.secrets import user_data_check
from clouds.base.tagging import POOL, SITE, missing_tags
from nimbus.groups import FLOCK
from nimbus.site import NimbusSite

ADDRESS, BRIDGE, FABRIC, TUNNEL = (
    f"pulumi-python:dynamic/nimbus:{name}" for name in ("Address", "Bridge", "Fabric", "Tunnel")
)


def _skylight(resource: Resource, _: Declared) -> Iterator[Breach]:
    """Yield a breach for a flock with a skylight: it is open to the internet."""
    if resource.inputs.get("skylight") is not False:
        yield Breach(what=f"skylight is {shown(resource.inputs.get('skylight'))}", write="skylight: false")


def _tags(resource: Resource, declared: Declared) -> Iterator[Breach]:
    wanted = (SITE, POOL) if resource.kind == FLOCK else (SITE,)
    yield from missing_tags("tags", resource.inputs.get("tags"), wanted, declared)


def checks() -> tuple[Check, ...]:
    """Return all checks."""
    return (
        Check(rule=policy_rules.PUBLIC_ADDRESS, kinds=frozenset({ADDRESS}), look=unaccounted_address),
        Check(rule=policy_rules.PUBLIC_INTERFACE, kinds=frozenset({FLOCK}), look=_skylight),
        user_data_check({FLOCK: ("user_data",)}),
        Check(rule=policy_rules.TAGS, kinds=frozenset({ADDRESS, BRIDGE, FABRIC, FLOCK, TUNNEL}), look=_tags),
    )


def public(place: Place[NimbusSite], /) -> frozenset[str]:
    """Return the name of the gateway's address, as in ``nimbus_components``."""
    return frozenset({f"{place.environment}-links-{place.name}-address"})
