"""Whether an etcd member, and its store, is well."""

from __future__ import annotations

from dataclasses import dataclass

from checks import Check
from etcd_client import Cluster, Etcdctl, EtcdError, Member
from node_config import Node, client_url


@dataclass(frozen=True, kw_only=True)
class MemberReport:
    """One member of the store, seen from this one."""

    name: str
    id: str
    """Hexadecimal, as etcdctl writes it."""
    healthy: bool
    leader: bool
    learner: bool
    db_size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Survival:
    """Whether the store keeps its quorum without one member."""

    without: str
    member: bool
    """Whether it is a member at all."""
    voters: int
    quorum: int
    """Healthy voters needed: a machine that is gone stays a voter until its successor removes it."""
    healthy_without: int
    survives: bool
    reason: str


def checks(node: Node, etcdctl: Etcdctl) -> tuple[str, tuple[Check, ...]]:
    """The cluster's id in hexadecimal, empty when this member does not say; whether it is started, voting, in a quorum,
    of the right version."""
    endpoint = client_url(node.address)
    try:
        status = etcdctl.status(endpoint)
    except EtcdError as error:
        return "", (Check(name="started", ok=False, detail=str(error)),)
    healthy = etcdctl.healthy(endpoint)
    return f"{status.cluster:x}", (
        Check(name="started", ok=True, detail=f"member {status.member:x} of cluster {status.cluster:x}"),
        Check(
            name="voting",
            ok=not status.learner,
            detail="is a learner still" if status.learner else "is a voting member",
        ),
        Check(name="quorum", ok=healthy, detail="commits" if healthy else "does not commit, or has an alarm"),
        Check(
            name="version",
            ok=status.version == node.version,
            detail=f"runs {status.version}, the environment wants {node.version}",
        ),
    )


def members(node: Node, etcdctl: Etcdctl) -> tuple[str, tuple[MemberReport, ...]]:
    """The cluster's id in hexadecimal and every member; empty when nobody answers with a quorum."""
    cluster = _cluster(node, etcdctl)
    if cluster is None:
        return "", ()
    return f"{cluster.id:x}", tuple(_report(member, etcdctl) for member in cluster.members)


def survival(node: Node, etcdctl: Etcdctl, *, without: str) -> Survival:
    """Whether the members but ``without`` still are a quorum of all that vote now."""
    cluster = _cluster(node, etcdctl)
    if cluster is None:
        return Survival(
            without=without,
            member=False,
            voters=0,
            quorum=0,
            healthy_without=0,
            survives=False,
            reason="no member answers with a quorum: there is none to lose, and none to recover with",
        )
    voters = [member for member in cluster.members if not member.learner]
    quorum = len(voters) // 2 + 1
    healthy = sum(_healthy(member, etcdctl) for member in voters if member.name != without)
    present = any(member.name == without for member in cluster.members)
    return Survival(
        without=without,
        member=present,
        voters=len(voters),
        quorum=quorum,
        healthy_without=healthy,
        survives=healthy >= quorum,
        reason=f"{healthy} healthy of {len(voters)} voting members remain without {without}, {quorum} are needed",
    )


def _cluster(node: Node, etcdctl: Etcdctl) -> Cluster | None:
    addresses = (node.address, *node.peers.values())
    return etcdctl.first_cluster(client_url(address) for address in addresses)


def _healthy(member: Member, etcdctl: Etcdctl) -> bool:
    return bool(member.client_urls) and etcdctl.healthy(member.client_urls[0])


def _report(member: Member, etcdctl: Etcdctl) -> MemberReport:
    leader, size = False, 0
    if member.client_urls:
        try:
            status = etcdctl.status(member.client_urls[0])
            leader, size = status.leader == member.id, status.db_size
        except EtcdError:
            pass
    return MemberReport(
        name=member.name,
        id=f"{member.id:x}",
        # A learner answers no health query: it takes no reads that need a quorum.
        healthy=_healthy(member, etcdctl) if not member.learner else size > 0,
        leader=leader,
        learner=member.learner,
        db_size_bytes=size,
    )
