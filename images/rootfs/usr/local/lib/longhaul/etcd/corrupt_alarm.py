"""The alarm ``CORRUPT``: a member's data differs from the data of the majority.

While the alarm is on, the whole etcd cluster refuses writes, and every member reports the alarm. Members can still be
added and removed (etcd 3.6, server/etcdserver/apply/corrupt.go, which refuses only operations on keys and leases), but
that does not lift the alarm. The alarm may be lifted once the members that it names are replaced (etcd.io, "Data
corruption", "Restoring a corrupted member"). The leader compares the members' data every minute. It compares a revision
again until all members agree, so an alarm that is lifted too early comes back (server/etcdserver/corrupt.go,
``checkPeerHashes``).
"""

from __future__ import annotations

from collections.abc import Collection

from etcd.client import CORRUPT, NOSPACE, Alarm, Etcdctl, EtcdError, EtcdMembers, Member

ACTIVE = "Active Alarm(s): "
"""Words before the names of alarms in etcdctl's ``endpoint health``, for a member that commits (etcd 3.6,
etcdctl/ctlv3/command/ep_command.go)."""

NOBODY = 0
"""Member id in the alarm if no majority has the same data (server/etcdserver/corrupt.go)."""


def is_corrupt(ailment: str) -> bool:
    """Return whether a member's only problem, in etcdctl's words, is the alarm ``CORRUPT``, with or without the alarm
    ``NOSPACE``."""
    _, _, names = ailment.partition(ACTIVE)
    return CORRUPT in names.split() and set(names.split()) <= {CORRUPT, NOSPACE}


def named(etcdctl: Etcdctl, endpoint: str) -> frozenset[int]:
    """Return the ids of the members that the alarm names; empty without the alarm."""
    return frozenset(alarm.member for alarm in etcdctl.alarms(endpoint) if alarm.name == CORRUPT)


def stands(member: Member, etcdctl: Etcdctl, corrupt: Collection[int]) -> bool:
    """Return whether a member commits through a quorum and is not named by the alarm. ``corrupt`` has the ids of the
    named members. If it is empty, a member that reports the alarm does not count as committing."""
    if not member.client_urls:
        return False
    ailment = etcdctl.ailment(member.client_urls[0])
    return not ailment or (bool(corrupt) and member.id not in corrupt and is_corrupt(ailment))


def excuse(etcdctl: Etcdctl, cluster: EtcdMembers, leaving: Collection[Member]) -> frozenset[int]:
    """Return the ids of the members that the alarm names if a member of ``leaving`` is among them; otherwise empty.
    Only named members may leave during the alarm, because the successor of another member might get its data from a
    corrupt member."""
    try:
        corrupt = named(etcdctl, cluster.endpoint)
    except EtcdError:
        return frozenset()
    return corrupt if NOBODY not in corrupt and any(member.id in corrupt for member in leaving) else frozenset()


def alarm_message(etcdctl: Etcdctl, endpoint: str) -> str:
    """Return a message with the meaning of the alarm and the remedy; empty without the alarm."""
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
    """Return whether an alarm is ``CORRUPT`` and names a member that is not among the ids in ``members``."""
    return alarm.name == CORRUPT and alarm.member not in {*members, NOBODY}


def lift(etcdctl: Etcdctl, cluster: EtcdMembers, *, gone: Collection[Member] = ()) -> bool:
    """Lift the alarm if the members that it names no longer exist. Members in ``gone`` count as not existing. Return
    whether the alarm was lifted. The alarm stays if there is another alarm, because etcdctl lifts all alarms or
    none."""
    alarms = etcdctl.alarms(cluster.endpoint)
    members = {member.id for member in cluster.members} - {member.id for member in gone}
    if not alarms or not all(is_of_nobody(alarm, members) for alarm in alarms):
        return False
    etcdctl.disarm(cluster.endpoint)
    print(f"the alarm {CORRUPT} is lifted: the member that it named no longer exists", flush=True)
    return True
