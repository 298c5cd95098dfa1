"""Which checks there are for an environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from clouds.azure.session import MANAGEMENT
from clouds.base.findings import Finding, unknown
from clouds.registry import cloud_of
from longhaul.doctor import (
    NAMES,
    addresses,
    credentials,
    durations,
    existing,
    images,
    machine,
    permissions_aws,
    permissions_azure,
    quotas_aws,
    quotas_azure,
    racks,
    state,
    types_aws,
    types_azure,
)
from longhaul.doctor.aws import Aws, endpoints
from longhaul.doctor.azure import Azure
from longhaul.doctor.machine import Outside
from longhaul.doctor.run import Check
from longhaul.doctor.subject import Subject

NOT_IN_A_LAB = ("permissions", "registrations", "quotas", "machine-types", "images")
"""What a lab's stand-ins for the clouds do not answer, or not as the clouds would (docs/lab-differences.md)."""

ASKING = ("dns", "clock", "credentials", "addresses", "existing", *NOT_IN_A_LAB)
"""Checks that somebody outside has to answer."""


@dataclass(frozen=True, kw_only=True)
class Clouds:
    """Who is asked."""

    azure: Azure
    aws: Aws
    here: Outside


def checks(subject: Subject, clouds: Clouds, *, only: tuple[str, ...] = ()) -> tuple[Check, ...]:
    """All of them, or those of these names, in the order of the report."""
    found = (*_here(subject, clouds), *_azure(subject, clouds), *_aws(subject, clouds))
    chosen = [_of_a_lab(check) if subject.lab else check for check in found if not only or check.name in only]
    return tuple(sorted(chosen, key=lambda check: NAMES.index(check.name)))


def _of_a_lab(check: Check) -> Check:
    if check.name not in NOT_IN_A_LAB:
        return check
    said = unknown("not asked: a lab's stand-ins for the clouds do not answer this", *check.where)
    return Check(name=check.name, where=check.where, run=lambda: (said,))


def _here(subject: Subject, clouds: Clouds) -> Iterator[Check]:
    """What needs no account."""
    local: tuple[tuple[str, Callable[[Subject], Iterable[Finding]]], ...] = (
        ("state", state.backend),
        ("state", state.encryption),
        ("racks", racks.gateways),
        ("racks", racks.hosts),
        ("credentials", credentials.imaginary),
        ("durations", durations.durations),
    )
    for name, look in local:
        yield Check(name=name, where=(subject.file,), run=partial(look, subject))
    yield Check(name="dns", where=("this machine",), run=partial(machine.dns, subject, clouds.here))
    if any(site.kind == "azure" for site in subject.environment.sites.values()):
        yield Check(name="clock", where=("this machine",), run=partial(machine.clock, clouds.here, MANAGEMENT))
    for region in list(subject.aws_regions())[:1]:
        yield Check(name="clock", where=("this machine",), run=partial(_aws_clock, clouds.here, region))


def _aws_clock(here: Outside, region: str) -> Iterator[Finding]:
    ((url,),) = endpoints(("sts",), [region]).values()
    yield from machine.clock(here, url)


def _azure(subject: Subject, clouds: Clouds) -> Iterator[Check]:
    """By subscription, by region in it, by site."""
    for subscription, names in subject.subscriptions().items():
        for name, look in (
            ("credentials", credentials.azure),
            ("permissions", permissions_azure.azure),
            ("registrations", permissions_azure.registrations),
            ("addresses", addresses.azure),
        ):
            run = partial(look, subject, clouds.azure, subscription)
            yield Check(name=name, where=subject.sites(*names), run=run)
    for (subscription, region), names in subject.azure_regions().items():
        run = partial(quotas_azure.azure, subject, clouds.azure, subscription, region)
        yield Check(name="quotas", where=subject.sites(*names), run=run)
    for name, site in subject.azure().items():
        where = subject.sites(name)
        yield Check(name="machine-types", where=where, run=partial(types_azure.azure, subject, clouds.azure, name))
        yield Check(name="images", where=where, run=partial(images.azure, subject, clouds.azure, name, site))
        if cloud_of(site).made.there_already(site):
            yield Check(name="existing", where=where, run=partial(existing.azure, subject, clouds.azure, name))


def _aws(subject: Subject, clouds: Clouds) -> Iterator[Check]:
    """By account, by region, by site."""
    if not subject.aws():
        return
    everywhere = subject.sites(*subject.aws())
    yield Check(name="credentials", where=everywhere, run=partial(credentials.aws, subject, clouds.aws))
    yield Check(name="permissions", where=everywhere, run=partial(permissions_aws.aws, subject, clouds.aws))
    for region, names in subject.aws_regions().items():
        where = subject.sites(*names)
        yield Check(name="quotas", where=where, run=partial(quotas_aws.aws, subject, clouds.aws, region))
        yield Check(name="addresses", where=where, run=partial(addresses.aws, subject, clouds.aws, region))
    for name, site in subject.aws().items():
        where = subject.sites(name)
        yield Check(name="machine-types", where=where, run=partial(types_aws.aws, subject, clouds.aws, name))
        yield Check(name="images", where=where, run=partial(images.aws, subject, clouds.aws, name, site))
        if cloud_of(site).made.there_already(site):
            yield Check(name="existing", where=where, run=partial(existing.aws, subject, clouds.aws, name))
