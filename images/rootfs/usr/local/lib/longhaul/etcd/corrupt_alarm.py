"""The alarm ``CORRUPT``: the data of a member differs from the majority's.

While it is on, the whole etcd cluster refuses writes, and every member reports it; members can still be added and
removed (etcd 3.6, server/etcdserver/apply/corrupt.go, which refuses only operations on keys and leases). No change of
members lifts it. It may be lifted once the members that it names are replaced (etcd.io, "Data corruption", "Restoring a
corrupted member"). The leader compares each minute, and counts a revision as compared only when all agreed: an alarm
that is lifted too early comes back (server/etcdserver/corrupt.go, ``checkPeerHashes``).
"""

from __future__ import annotations

from collections.abc import Collection

from etcd.client import CORRUPT, NOSPACE, Alarm, Etcdctl, EtcdError, EtcdMembers, Member

ACTIVE = "Active Alarm(s): "
"""Words of etcdctl's ``endpoint health`` about a member that commits and reports alarms, before their names (etcd 3.6,
etcdctl/ctlv3/command/ep_command.go)."""

NOBODY = 0
"""Member that the alarm names when no majority has the same data (server/etcdserver/corrupt.go)."""


def is_corrupt(ailment: str) -> bool:
    """Return whether a member's only problem, in etcdctl's words, is this alarm, alone or together with that of the
    quota."""
    _, _, names = ailment.partition(ACTIVE)
    return CORRUPT in names.split() and set(names.split()) <= {CORRUPT, NOSPACE}


def named(etcdctl: Etcdctl, endpoint: str) -> frozenset[int]:
    """Return the ids of the members that the alarm names; empty without it."""
    return frozenset(alarm.member for alarm in etcdctl.alarms(endpoint) if alarm.name == CORRUPT)


def stands(member: Member, etcdctl: Etcdctl, corrupt: Collection[int]) -> bool:
    """Return whether a member commits through a quorum and is not named by the alarm. ``corrupt``: ids of the named
    members; when it is empty, the alarm is no excuse, and a member that reports it does not count."""
    if not member.client_urls:
        return False
    ailment = etcdctl.ailment(member.client_urls[0])
    return not ailment or (bool(corrupt) and member.id not in corrupt and is_corrupt(ailment))


def excuse(etcdctl: Etcdctl, cluster: EtcdMembers, leaving: Collection[Member]) -> frozenset[int]:
    """Return the ids of the members that the alarm names when one of ``leaving`` is among them; empty otherwise. Only
    named members may leave during the alarm: another member's successor might get its data from a corrupt one."""
    try:
        corrupt = named(etcdctl, cluster.endpoint)
    except EtcdError:
        return frozenset()
    return corrupt if NOBODY not in corrupt and any(member.id in corrupt for member in leaving) else frozenset()


def alarm_message(etcdctl: Etcdctl, endpoint: str) -> str:
    """Return the meaning of the alarm and what to do; empty without it."""
    try:
        corrupt, members = named(etcdctl, endpoint), etcdctl.cluster(endpoint).members
    except EtcdError:
        return ""
    if not corrupt:
        return ""
    names = sorted(member.name or f"{member.id:x}" for member in members if member.id in corrupt)
    if NOBODY in corrupt:
        restore = "`longhaul restore --etcd NAME --although-healthy`"
        rest = f"no majority has the same data, so etcd cannot say whose is right: {restore}"
    elif names:
        rest = f"the data of {', '.join(names)} differs from the others': `longhaul up --replace {names[0]}`"
    else:
        rest = "the member that it names no longer exists: `etcdctl alarm disarm` on a member lifts it"
    return f"alarm {CORRUPT}, the cluster refuses writes: {rest}"


def is_of_nobody(alarm: Alarm, members: Collection[int]) -> bool:
    """Return whether an alarm is this one and names none of the members with these ids any more."""
    return alarm.name == CORRUPT and alarm.member not in {*members, NOBODY}


def lift(etcdctl: Etcdctl, cluster: EtcdMembers, *, gone: Collection[Member] = ()) -> bool:
    """Lift the alarm once none of the members that it names exists any more; ``gone`` counts as not existing. Return
    whether the alarm was lifted. It stays when there is another alarm beside it: etcdctl lifts all or none."""
    alarms = etcdctl.alarms(cluster.endpoint)
    members = {member.id for member in cluster.members} - {member.id for member in gone}
    if not alarms or not all(is_of_nobody(alarm, members) for alarm in alarms):
        return False
    etcdctl.disarm(cluster.endpoint)
    print(f"the alarm {CORRUPT} is lifted: the member that it named no longer exists", flush=True)
    return True
