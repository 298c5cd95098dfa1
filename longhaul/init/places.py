"""Asks for sites and nodes, and gives names to pools and hosts without a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, TypeVar, cast

from longhaul.init import questions as q
from longhaul.init.answers import CloudSite, HostAnswer, HostsAnswer, Places, PoolAnswer, Rack
from longhaul.init.interview import Interview

if TYPE_CHECKING:
    from clouds.base.machine_types import MachineProperties

RACK = "rack"
"""Name of the on-premises site of `--gateway`; sites in clouds are named after their region."""

LONGEST_NAME = 20
"""Largest number of characters in a pool's name (``clouds.base.section.Name``)."""

_AZURE_POOL = (q.AZURE_MACHINE_TYPE, q.AZURE_MAX)
_AWS = (q.AWS_REGION, q.AWS_ZONES, q.AWS_IMAGE, q.AWS_MACHINE_TYPE, q.AWS_MAX)

HostT = TypeVar("HostT", HostAnswer, HostsAnswer)


def gather_places(interview: Interview, types: Mapping[str, MachineProperties]) -> Places:
    """Return all sites and nodes. They must not be used if the interview has problems. ``types`` are machine types that
    are not built in."""
    control = CloudSite(
        cloud="azure",
        region=interview.answer(q.AZURE_REGION),
        zones=interview.answer(q.AZURE_ZONES),
        image=interview.given(q.AZURE_IMAGE),
    )
    pools = list(_azure_pool(interview, control))
    sites = [control, *_aws(interview, pools)]
    racks, groups, hosts = _racks(interview)
    sites += [*interview.given_several(q.AZURE_SITE), *interview.given_several(q.AWS_SITE)]
    _check_names(interview, [*(site.region for site in sites), *(rack.site for rack in racks)])
    groups = _placed(interview, groups, racks, flag=q.HOSTS.flag)
    hosts = _placed(interview, hosts, racks, flag=q.HOST.flag)
    extra = interview.given_several(q.pool(types))
    if interview.problems:
        return cast(Places, None)
    return Places(
        clouds=tuple(sites),
        types=types,
        pools=tuple(_named(pools, extra, sites)),
        racks=tuple(racks),
        hosts=(*_hosts(groups), *hosts),
    )


def _azure_pool(interview: Interview, control: CloudSite) -> Iterator[PoolAnswer]:
    if interview.wants("A node pool on Azure, beside the control plane? (yes/no)", _AZURE_POOL):
        type_, most = interview.answer(q.AZURE_MACHINE_TYPE), interview.answer(q.AZURE_MAX)
        yield PoolAnswer(site=control.region, machine_type=type_, max=most, gpus=_gpus(type_))


def _aws(interview: Interview, pools: list[PoolAnswer]) -> Iterator[CloudSite]:
    """Yield the AWS sites from single questions, and add the pool of each to ``pools``."""
    by_flag = any(interview.is_given(question) for question in _AWS)
    if interview.is_given(q.AWS_SITE) and not by_flag:
        return
    wanted = interview.wants("A site on AWS, with one node pool? (yes/no)", _AWS)
    while wanted:
        region = interview.answer(q.AWS_REGION)
        zones, image = interview.answer(q.AWS_ZONES), interview.given(q.AWS_IMAGE)
        type_, most = interview.answer(q.AWS_MACHINE_TYPE), interview.answer(q.AWS_MAX)
        pools.append(PoolAnswer(site=region, machine_type=type_, max=most, gpus=_gpus(type_)))
        yield CloudSite(cloud="aws", region=region, zones=zones, image=image)
        wanted = not by_flag and interview.wants("Another site on AWS, with one node pool? (yes/no)", ())


def _gpus(machine_type: str) -> int:
    """Return the number of GPUs of a built-in type; 0 after a problem."""
    from components.model.pools.machine_types import known_machine_types

    known = known_machine_types().get(machine_type)
    return known.gpus if known else 0


def _racks(interview: Interview) -> tuple[Sequence[Rack], Sequence[HostsAnswer], Sequence[HostAnswer]]:
    """Return on-premises sites, groups of equal hosts, and single hosts."""
    sites = interview.given_several(q.ONPREM_SITE)
    if interview.is_given(q.ONPREM_SITE) and not interview.is_given(q.GATEWAY):
        return sites, interview.given_several(q.HOSTS), interview.given_several(q.HOST)
    if not interview.wants("Racks of your own? (yes/no)", (q.GATEWAY, q.HOSTS, q.HOST)):
        return sites, (), ()
    gateways = interview.answers(q.GATEWAY, most=2)
    groups = interview.answers(q.HOSTS, least=0)
    return (Rack(site=RACK, gateways=gateways), *sites), groups, interview.answers(q.HOST, least=0)


def _check_names(interview: Interview, names: Iterable[str]) -> None:
    for name, number in Counter(names).items():
        if name and number > 1:
            interview.problems.append(f"{name} is given as {number} sites: one site holds all pools of a region")


def _placed(interview: Interview, hosts: Sequence[HostT], racks: Sequence[Rack], *, flag: str) -> Sequence[HostT]:
    """Return the hosts, each with a site. The default is the site of `--gateway`, or the only site."""
    there = [rack.site for rack in racks]
    usual = there[0] if there and (len(there) == 1 or there[0] == RACK) else ""
    placed = [replace(host, site=host.site or usual) for host in hosts]
    for site in sorted({host.site for host in placed if there and host.site not in there}):
        wrong = f"no site of racks is called {site!r}" if site else "it needs the name of its site"
        interview.problems.append(f"--{flag}: {wrong}: {' or '.join(there)}")
    return placed


def _hosts(groups: Iterable[HostsAnswer]) -> Iterator[HostAnswer]:
    """Yield each host of the groups, with a name from its site, its kind, and its number."""
    begun: Counter[str] = Counter()
    for group in groups:
        stem = f"{group.site}-{'gpu' if group.gpus else 'cpu'}"
        for _ in range(group.number):
            yield HostAnswer(name=f"{stem}-{begun[stem]:03}", site=group.site, gpus=group.gpus)
            begun[stem] += 1


def _named(
    asked: Iterable[PoolAnswer], given: Iterable[PoolAnswer], sites: Iterable[CloudSite]
) -> Iterator[PoolAnswer]:
    """Yield the pools, each with a name. A generated name begins with the cloud for a pool from single questions, and
    with the site for any other pool."""
    clouds = {site.region: site.cloud for site in sites}
    named = [pool.name for pool in given]
    for pool, place in [*((pool, clouds[pool.site]) for pool in asked), *((pool, pool.site) for pool in given)]:
        name = pool.name or _free_name(place, "gpu" if pool.gpus else "cpu", taken=named)
        named.append(name)
        yield replace(pool, name=name)


def _free_name(place: str, what: str, *, taken: Sequence[str]) -> str:
    """Return an unused name for a pool. A long place is truncated."""
    ends = (f"-{what}" if number == 1 else f"-{what}-{number}" for number in count(1))
    names = (place[: LONGEST_NAME - len(end)].rstrip("-") + end for end in ends)
    return next(name for name in names if name not in taken)
