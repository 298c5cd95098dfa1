"""Asks all questions in order, and collects the answers."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from pathlib import Path

from longhaul.init import questions as q
from longhaul.init.answers import Answers
from longhaul.init.interview import Interview
from longhaul.init.places import gather_places
from longhaul.init.ranges import supernet_prefix, too_many
from longhaul.init.sizes import SIZES


def gather(interview: Interview, name: str, *, taken: Mapping[IPv4Network, str], home: Path) -> Answers:
    """Return all answers for the environment ``name``. Raise ``CommandError`` with all invalid and missing flags.

    ``taken`` are other environments' ranges, each with the environment's name; ``home`` is the person's home folder,
    which may contain keys.
    """
    from components.model.network.free_range import OFFERED_PREFIX

    zone, key_file = q.domain(name), q.administrator_key(home)
    types = dict(interview.given_several(q.MACHINE_TYPE))
    fixed = (question for question in q.FIXED if question not in (q.MACHINE_TYPE, q.POOL))
    interview.check_flags((*fixed, q.pool(types), q.supernet(taken, prefix=OFFERED_PREFIX), zone, key_file))
    size = interview.answer(q.SIZE)
    subscription, tenant = interview.answer(q.SUBSCRIPTION), interview.answer(q.TENANT)
    places = gather_places(interview, types)
    if not interview.problems:
        interview.problems.extend(too_many(places))
    if interview.ask is not None:
        interview.finish()
    officers = interview.answers(q.OFFICER)
    operators = interview.answers(q.OPERATORS)
    key = interview.answer(key_file)
    domain = interview.answer(zone)
    used = dict.fromkeys(interview.given_several(q.USED), "what you use already (--used)")
    prefix = OFFERED_PREFIX if interview.problems else supernet_prefix(places, most=OFFERED_PREFIX)
    supernet = interview.answer(q.supernet({**taken, **used}, prefix=prefix))
    interview.finish()
    return Answers(
        name=name,
        supernet=supernet,
        used=tuple(used),
        domain=domain,
        size=size,
        destroyable=bool(interview.options.destroyable) or size == SIZES["trial"],
        officers=dict(officers),
        operators=operators,
        administrator_key=key,
        subscription=subscription,
        tenant=tenant,
        places=places,
    )
