"""Asks all questions in order, and collects the answers."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network
from pathlib import Path

from longhaul.init import questions as q
from longhaul.init.answers import SIZES, Answers, Aws, Azure, Gateway, Host, Pool, Rack
from longhaul.init.interview import Interview

_AZURE_POOL = (q.AZURE_MACHINE_TYPE, q.AZURE_MAX)
_AWS = (q.AWS_REGION, q.AWS_ZONES, q.AWS_IMAGE, q.AWS_MACHINE_TYPE, q.AWS_MAX)
_RACK = (q.GATEWAY, q.HOST)


def gather(
    interview: Interview, name: str, *, taken: Sequence[IPv4Network], offered: IPv4Network | None, home: Path
) -> Answers:
    """Return all answers for the environment ``name``; ``CommandError`` with everything that is wrong or missing in
    flags.

    ``taken`` are other environments' ranges, ``offered`` is a free one, ``home`` is the folder in which a person's keys
    are.
    """
    range_, zone, key_file = q.supernet(taken, offered=offered), q.domain(name), q.administrator_key(home)
    interview.check_flags((*q.FIXED, range_, zone, key_file))
    supernet = interview.one(range_)
    size = interview.one(q.SIZE)
    azure = Azure(
        subscription=interview.one(q.SUBSCRIPTION),
        tenant=interview.one(q.TENANT),
        region=interview.one(q.AZURE_REGION),
        zones=interview.one(q.AZURE_ZONES),
        image=interview.given(q.AZURE_IMAGE),
        pool=_azure_pool(interview),
    )
    aws = _aws(interview)
    rack = _rack(interview)
    officers = interview.several(q.OFFICER)
    operators = interview.several(q.OPERATORS)
    key = interview.one(key_file)
    domain = interview.one(zone)
    interview.finish()
    return Answers(
        name=name,
        supernet=supernet,
        domain=domain,
        size=size,
        destroyable=bool(interview.options.destroyable) or size == SIZES["trial"],
        officers=dict(officers),
        operators=operators,
        administrator_key=key,
        azure=azure,
        aws=aws,
        rack=rack,
    )


def _azure_pool(interview: Interview) -> Pool | None:
    if not interview.wants("A node pool on Azure, beside the control plane? (yes/no)", _AZURE_POOL):
        return None
    return Pool(machine_type=interview.one(q.AZURE_MACHINE_TYPE), max=interview.one(q.AZURE_MAX))


def _aws(interview: Interview) -> Aws | None:
    if not interview.wants("A site on AWS, with one node pool? (yes/no)", _AWS):
        return None
    return Aws(
        region=interview.one(q.AWS_REGION),
        zones=interview.one(q.AWS_ZONES),
        image=interview.given(q.AWS_IMAGE),
        pool=Pool(machine_type=interview.one(q.AWS_MACHINE_TYPE), max=interview.one(q.AWS_MAX)),
    )


def _rack(interview: Interview) -> Rack | None:
    if not interview.wants("Racks of your own? (yes/no)", _RACK):
        return None
    gateways: tuple[Gateway, ...] = interview.several(q.GATEWAY, most=2)
    hosts: tuple[Host, ...] = interview.several(q.HOST, least=0)
    return Rack(gateways=gateways, hosts=hosts)
