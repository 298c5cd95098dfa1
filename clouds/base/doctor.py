"""Input of a cloud's doctor, the questions that it asks, and verdicts that all clouds share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network
from typing import Any, Generic

from clouds.base.findings import Finding, ok, problem, warning
from clouds.base.local_machine import LocalMachine
from clouds.base.place import Place, SiteT, SiteT_co
from clouds.base.ranges import SiteRanges

PAGE = "docs/getting-started.md"
"""Page that says what an account needs."""
APART = "nothing, if the two are never to reach each other; otherwise another supernet, before anything is made"
MAKE_IT = "make it, name another one, or leave the key out, and Longhaul makes one"
FIT_IT = "change it, or the file (docs/existing.md, What has to fit)"
PIN = "read it at the console, or scan it (`ssh-keyscan`), and write it as `host_key` (docs/hosts.md)"


@dataclass(frozen=True, kw_only=True)
class DoctorQuestion:
    """One question about some places, or a few questions that belong together."""

    name: str
    where: tuple[str, ...]
    """Keys or machines that the question is about. They become the finding's ``where`` when there is no answer."""
    run: Callable[[], Iterable[Finding]]


@dataclass(frozen=True, kw_only=True)
class MachineDemand:
    """Machines of one type that a part of the environment needs in one site."""

    site: str
    key: tuple[str, ...]
    """Key in the environment file that requests them."""
    machine_type: str
    vcpus: int
    """Number of virtual cores of each machine."""
    least: int
    most: int
    spot: bool = False
    etcd: bool = False
    """True when the machines are members of an etcd cluster, which write to local SSD."""
    pooled: bool = False
    """True when the machines belong to a pool, and so to a group."""
    zones: tuple[str, ...] = ()
    """Zones of the site that the machines may be in; empty for all zones."""
    durable_disk: bool = False
    """True when the machines' data is on a network disk that outlives them."""


@dataclass(frozen=True, kw_only=True)
class CloudShare(Generic[SiteT_co]):
    """Part of an environment that is in one cloud."""

    environment: str
    """Name of the environment."""
    file: str
    """Path of the stack file, as the user would write it."""
    lab: bool
    """True when a lab stands in for the clouds."""
    here: LocalMachine
    supernet: IPv4Network
    places: Mapping[str, Place[SiteT_co]]
    """Sites in this cloud, by name."""
    ranges: Mapping[str, SiteRanges]
    """Ranges of these sites, by the site's name."""
    remote_addresses: Mapping[str, int]
    """Number of public addresses of other sites to which each site has tunnels."""
    machines: tuple[MachineDemand, ...]
    """Machines that the environment needs in these sites."""
    permissions_boundary: str = ""
    """Policy of AWS that bounds the roles of the environment; empty when the file names none."""

    def at(self, *key: object) -> str:
        """Return a key of the environment together with its file, as text."""
        return f"{'.'.join(map(str, key))} in {self.file}"

    def sites(self, *names: str) -> tuple[str, ...]:
        """Return the keys of these sites together with their file, as texts."""
        return tuple(self.at("sites", name) for name in names)

    def regions(self) -> dict[str, list[str]]:
        """Return the names of the sites in each region."""
        names: dict[str, list[str]] = {}
        for name, place in self.places.items():
            names.setdefault(place.site.region, []).append(name)
        return names

    def machines_in(self, *names: str) -> tuple[MachineDemand, ...]:
        """Return the machines that the environment needs in these sites."""
        return tuple(machine for machine in self.machines if machine.site in names)


def compared(share: CloudShare[Any], others: list[tuple[str, list[str]]], what: str) -> Iterator[Finding]:
    """Warn about networks in an account that overlap the supernet, because they can never be connected to the
    environment. ``others`` holds the name and the ranges of each network."""
    supernet, clash = share.supernet, False
    for name, blocks in others:
        for block in blocks:
            range_ = ip_network(block)
            if isinstance(range_, IPv4Network) and range_.overlaps(supernet):
                clash = True
                yield warning(f"{name} has {range_}, inside or around {supernet}", share.at("supernet"), do=APART)
    if not clash:
        yield ok(f"none of {len(others)} other {what} overlaps {supernet}", share.at("supernet"))


def cores_differ(
    share: CloudShare[Any], machines: Iterable[MachineDemand], vcpus: Mapping[str, int]
) -> Iterator[Finding]:
    """Report machine types whose number of cores in the cloud differs from the number in the address and capacity
    plans."""
    for machine_type, known in sorted({(machine.machine_type, machine.vcpus) for machine in machines}):
        if vcpus.get(machine_type, known) != known:
            key, actual = share.at("machine_types", machine_type, "vcpus"), vcpus[machine_type]
            yield problem(f"{machine_type} has {actual} vCPUs, not {known}", key, do=f"vcpus: {actual}")


def fitted(
    share: CloudShare[Any], key: str, what: str, named: str, part: object | None, faults: Iterable[str]
) -> Iterator[Finding]:
    """Judge an existing part that the environment names. ``part`` is None when the part does not exist; ``faults`` say
    why it does not fit."""
    where = share.at(key)
    if part is None:
        yield problem(f"the {what} {named} does not exist", where, do=MAKE_IT)
        return
    wrong = [problem(f"the {what} {named}: {fault}", where, do=FIT_IT) for fault in faults]
    yield from wrong or [ok(f"the {what} {named} exists, and fits", where)]


def unbaked(share: CloudShare[Any], name: str) -> Finding:
    """Return the finding for an image that is still to be baked."""
    key = share.at("sites", name, "image")
    return problem("no image is baked yet: this id stands for the first", key, do=bake(share, name))


def bake(share: CloudShare[Any], name: str) -> str:
    """Return the advice for a site without a baked image."""
    return f"`longhaul image build --env {share.environment} --site {name}` ends with the id to write here"


class CloudDoctor(Generic[SiteT]):
    """Checks, before anything is made, that a cloud has and allows everything that an environment needs. There are no
    questions by default."""

    def services(self, share: CloudShare[SiteT]) -> dict[str, tuple[str, ...]]:
        """Return the URLs of the cloud's own services that are needed, each with the names of the sites that need
        it."""
        return {}

    def questions(self, share: CloudShare[SiteT]) -> Iterator[DoctorQuestion]:
        """Yield the questions to ask about a share, which has at least one site. ``run`` of a question may raise
        ``NotAskedError``; the finding is then ``unknown``."""
        yield from ()
