"""What a cloud's doctor is told of an environment, what it asks, and what is judged alike in all clouds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Any, Generic

from clouds.base.findings import Finding, ok, problem, warning
from clouds.base.fitting import SiteRanges
from clouds.base.outside import Outside
from clouds.base.place import Place, SiteT_co

APART = "nothing, if the two are never to reach each other; otherwise another supernet, before anything is made"
MAKE_IT = "make it, name another one, or leave the key out and have one made"
FIT_IT = "have it changed, or the file (docs/existing.md, What has to fit)"
PIN = "read it at the console, or scan it (`ssh-keyscan`), and write it as `host_key` (docs/racks.md)"


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, or a few that belong together, about some places."""

    name: str
    where: tuple[str, ...]
    """What it is about, for the case that it has no answer."""
    run: Callable[[], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class Machines:
    """Machines of one type that a part of the environment wants in one site."""

    site: str
    key: tuple[str, ...]
    """Where the file asks for them."""
    machine_type: str
    vcpus: int
    """Virtual cores of each."""
    least: int
    most: int
    spot: bool = False
    store: bool = False
    """Whether they keep data on local SSD."""
    pooled: bool = False
    """Whether they are a pool's, and so of a group."""


@dataclass(frozen=True, kw_only=True)
class Share(Generic[SiteT_co]):
    """What of an environment is in one cloud."""

    environment: str
    """The environment's name."""
    file: str
    """The stack file as the user would write its path."""
    lab: bool
    """Whether a lab stands for the clouds."""
    here: Outside
    supernet: IPv4Network
    places: Mapping[str, Place[SiteT_co]]
    """The cloud's sites, by name."""
    ranges: Mapping[str, SiteRanges]
    """Theirs, by name."""
    machines: tuple[Machines, ...]
    """What is wanted in them."""

    def at(self, *key: object) -> str:
        """A key of the environment, with its file."""
        return f"{'.'.join(map(str, key))} in {self.file}"

    def sites(self, *names: str) -> tuple[str, ...]:
        """These sites, with their file."""
        return tuple(self.at("sites", name) for name in names)

    def regions(self) -> dict[str, list[str]]:
        """Names of the sites in each region."""
        found: dict[str, list[str]] = {}
        for name, place in self.places.items():
            found.setdefault(place.site.region, []).append(name)
        return found

    def machines_in(self, *names: str) -> tuple[Machines, ...]:
        """What is wanted in these sites."""
        return tuple(one for one in self.machines if one.site in names)


def compared(share: Share[Any], others: list[tuple[str, list[str]]], what: str) -> Iterator[Finding]:
    """Whether the address plan overlaps what is in an account already, each thing with its ranges: such networks can
    never be joined to this one."""
    supernet, clash = share.supernet, False
    for name, blocks in others:
        for block in blocks:
            range_ = ip_network(block)
            if isinstance(range_, IPv4Network) and range_.overlaps(supernet):
                clash = True
                yield warning(f"{name} has {range_}, inside or around {supernet}", share.at("supernet"), do=APART)
    if not clash:
        yield ok(f"none of {len(others)} other {what} overlaps {supernet}", share.at("supernet"))


def cores_differ(share: Share[Any], machines: Iterable[Machines], vcpus: Mapping[str, int]) -> Iterator[Finding]:
    """Whether a cloud says other cores of a type than the address and capacity plans count with."""
    for machine_type, known in sorted({(one.machine_type, one.vcpus) for one in machines}):
        if vcpus.get(machine_type, known) != known:
            key, said = share.at("machine_types", machine_type, "vcpus"), vcpus[machine_type]
            yield problem(f"{machine_type} has {said} vCPUs, not {known}", key, do=f"vcpus: {said}")


def fitted(
    share: Share[Any], key: str, what: str, named: str, found: object | None, faults: Iterable[str]
) -> Iterator[Finding]:
    """The verdict on a part that the environment names, None when it is not there."""
    where = share.at(key)
    if found is None:
        yield problem(f"the {what} {named} is not there", where, do=MAKE_IT)
        return
    wrong = [problem(f"the {what} {named}: {fault}", where, do=FIT_IT) for fault in faults]
    yield from wrong or [ok(f"the {what} {named} is there, and fits", where)]


def unbaked(share: Share[Any], name: str) -> Finding:
    """The verdict on an image that is still to be baked."""
    key = share.at("sites", name, "image")
    return problem("no image is baked yet: this id stands for the first", key, do=bake(share, name))


def bake(share: Share[Any], name: str) -> str:
    """What to do where a site's image is none."""
    return f"`longhaul image build --env {share.environment} --site {name}` ends with the id to write here"
