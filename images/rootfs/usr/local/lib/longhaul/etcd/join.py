"""Decide, before etcd starts, how this member starts. An etcd cluster is bootstrapped exactly once in its life.

A member with data starts with the data, unless the data is of another cluster or of a removed member. A member without
data joins the cluster of a member that answers. If the vault records the cluster as new, the members that the vault
names bootstrap it together. The cluster is not used until the vault records that it exists. In all other cases the unit
fails with the reason, and is tried again. The decision is written to /run/longhaul/etcd-join.env for etcd.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from machine.config import PKI, client_url, peer_url
from vault import fetch_secrets
from vault.client import VaultError

from contract.documents import etcd_state
from contract.documents.etcd_state import EXISTING, NEW, RecordedCluster
from contract.documents.node import NodeConfig
from contract.paths import SSD
from etcd import corrupt_alarm
from etcd.client import Etcdctl, EtcdError, EtcdMembers, Member
from etcd.exit_reason import REFUSED
from etcd.wal import WalError, WalIdentity, identity

DATA = Path(SSD, "etcd")
ENVIRONMENT = Path("/run/longhaul/etcd-join.env")

PATIENCE_S = 60.0
"""Time in seconds for which the program tries before the unit fails and is tried again. etcd adds no member within 5 s
of another member's arrival (etcd 3.6, server/etcdserver/server.go ``HealthInterval``), and the machine's network may
still be starting."""

RETRY_S = 1.0

UNHEALTHY, TOO_MANY = "unhealthy cluster", "too many learner"
"""Parts of etcd's error messages (etcd 3.6, server/etcdserver/errors and api/membership/errors.go)."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """Decision to start with the data on the disk."""


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Decision to bootstrap the etcd cluster, together with the other founders."""

    founders: tuple[str, ...]
    """Names of all machines that bootstrap the cluster."""


@dataclass(frozen=True, kw_only=True)
class Join:
    """Decision to join the cluster that answers, after the removal of stale members with this machine's name or
    address."""

    stale: tuple[Member, ...]


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """Decision not to start."""

    reason: str


def decide(
    *, node: NodeConfig, local: WalIdentity | None, cluster: EtcdMembers | None, state: RecordedCluster | None
) -> Start | Bootstrap | Join | Refuse:
    """Return the decision. ``cluster`` is the answer of another member with a quorum. ``state`` is the vault's record
    of the cluster, or None if the record cannot be read. A member with data (``local``) needs no record."""
    if local is not None:
        return _with_data(node, local, cluster)
    if state is None:
        return Refuse(
            reason=f"the vault's secret {node.state_secret} cannot be read, so it is unknown whether this etcd cluster "
            "exists"
        )
    founders = state.founders or _first(node)
    if cluster is not None:
        late = state.state == NEW and node.machine in founders and _awaited(node, cluster)
        return Bootstrap(founders=founders) if late else _join(node, cluster, state)
    if state.state == NEW and node.machine in founders:
        return Bootstrap(founders=founders)
    if state.state == NEW:
        return Refuse(
            reason=f"no member of the new etcd cluster answers; {', '.join(founders)} bootstrap it, {node.machine} "
            "only joins"
        )
    if state.state == EXISTING:
        return Refuse(
            reason=f"{node.machine} has no data, the etcd cluster exists ({node.state_secret}), and no other member "
            "answers with a quorum. Bring the other members back. If there are none, the data is gone: "
            "`longhaul restore` makes the etcd cluster anew from a backup"
        )
    return Refuse(reason=f"the vault's secret {node.state_secret} says {state.state!r}; it must say new or existing")


def _first(node: NodeConfig) -> tuple[str, ...]:
    return (next(iter(node.stores[node.role])),)


def _awaited(node: NodeConfig, cluster: EtcdMembers) -> bool:
    """Return whether the cluster lists this machine as a member that never started: the other founders have already
    bootstrapped the cluster."""
    return any(peer_url(node.address) in member.peer_urls and not member.client_urls for member in cluster.members)


def _instead(node: NodeConfig) -> str:
    """Return the advice for a machine with useless data. A new machine does not help the learner, because its disk
    outlives its machine."""
    if not node.learner:
        return "replace this machine"
    return "take the learner out of the file, run `longhaul up`, and put it back: it gets a new disk"


def _with_data(node: NodeConfig, local: WalIdentity, cluster: EtcdMembers | None) -> Start | Refuse:
    if cluster is None:
        return Start()
    if local.cluster != cluster.id:
        return Refuse(
            reason=f"the data on this disk is of cluster {local.cluster:x}, but {cluster.endpoint} is of "
            f"cluster {cluster.id:x}. Nothing was deleted; {_instead(node)}"
        )
    if local.member not in {member.id for member in cluster.members}:
        return Refuse(
            reason=f"the data on this disk is of member {local.member:x}, which was removed from the cluster. "
            f"Nothing was deleted; {_instead(node)}"
        )
    return Start()


def _join(node: NodeConfig, cluster: EtcdMembers, state: RecordedCluster) -> Join | Refuse:
    if state.cluster and int(state.cluster, 16) != cluster.id:
        return Refuse(
            reason=f"{cluster.endpoint} answers for cluster {cluster.id:x}, but {node.state_secret} names "
            f"{state.cluster}: two etcd clusters with one name"
        )
    own_url = peer_url(node.address)
    stale = tuple(member for member in cluster.members if member.name == node.machine or own_url in member.peer_urls)
    return Join(stale=stale)


def join(node: NodeConfig, etcdctl: Etcdctl, cluster: EtcdMembers, stale: tuple[Member, ...]) -> str:
    """Remove the stale members, lift an alarm that names only them, and add this member as a learner. Return
    ``ETCD_INITIAL_CLUSTER``. Raise ``EtcdError`` if the cluster refuses."""
    for member in stale:
        print(f"removing the old member {member.id:x} ({member.name or 'never started'})", flush=True)
        etcdctl.remove(cluster.endpoint, member.id)
    corrupt_alarm.lift(etcdctl, cluster, gone=stale)
    own_url = peer_url(node.address)
    try:
        members = etcdctl.add_learner(cluster.endpoint, name=node.machine, peer_url=own_url)
    except EtcdError as error:
        if TOO_MANY in str(error):
            learners = ", ".join(
                member.name or "one that never started" for member in cluster.members if member.learner
            )
            raise EtcdError(
                f"{error}. There are learners already ({learners}), and ETCD_MAX_LEARNERS in the members' etcd.service "
                "says how many there may be. Remove the one that is left over: etcdctl member remove"
            ) from None
        if UNHEALTHY not in str(error):
            raise
        voters = ", ".join(member.name for member in cluster.members if not member.learner and member not in stale)
        raise EtcdError(
            f"{error}. etcd takes no new member unless every voting one has been up for 5 s ({voters}). Bring back the "
            "one that is not, or remove it: etcdctl member remove"
        ) from None
    names = {peer_url(address): name for name, address in node.stores[node.role].items()}
    return ",".join(
        f"{names.get(url, member.name) or f'member-{member.id:x}'}={url}"
        for member in members
        for url in member.peer_urls
    )


def prepare(
    node: NodeConfig, *, etcdctl: Etcdctl, read: Callable[[str], str], data: Path, environment: Path
) -> Start | Bootstrap | Join | Refuse:
    """Decide, act on the decision, and write etcd's environment file. Raise ``EtcdError``, ``VaultError`` or
    ``WalError`` if a step fails."""
    local = identity(data)
    cluster = etcdctl.first_cluster(client_url(address) for address in node.peers.values())
    state = _state(node, read) if local is None else None
    decision = decide(node=node, local=local, cluster=cluster, state=state)
    if isinstance(decision, Refuse):
        environment.unlink(missing_ok=True)
    elif isinstance(decision, Join) and cluster is not None:
        _write(environment, EXISTING, join(node, etcdctl, cluster, decision.stale))
    elif isinstance(decision, Bootstrap):
        _write(environment, NEW, _initial(node, decision.founders))
    else:
        # With data etcd ignores both values. If it sees no data after all, "existing" keeps it from a bootstrap.
        _write(environment, EXISTING, _initial(node, (node.machine,)))
    return decision


def _initial(node: NodeConfig, machines: tuple[str, ...]) -> str:
    places = node.stores[node.role]
    return ",".join(f"{machine}={peer_url(places[machine])}" for machine in machines)


def _write(environment: Path, state: str, members: str) -> None:
    environment.write_text(f"ETCD_INITIAL_CLUSTER_STATE={state}\nETCD_INITIAL_CLUSTER={members}\n")


def _state(node: NodeConfig, read: Callable[[str], str]) -> RecordedCluster | None:
    try:
        return etcd_state.of_text(read(node.state_secret))
    except VaultError as error:
        print(error, file=sys.stderr)
        return None
    except (AttributeError, ValueError, TypeError):
        raise VaultError(f'secret {node.state_secret}: its value is not {{"state": …, "cluster": …}}') from None


def attempt(node: NodeConfig) -> str:
    """Try once. Return the reason why etcd may not start; empty if it may start."""
    etcdctl = Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt")
    vault = fetch_secrets.open_vault()
    try:
        decision = prepare(node, etcdctl=etcdctl, read=vault.read, data=DATA, environment=ENVIRONMENT)
    except (EtcdError, VaultError, WalError) as error:
        return str(error)
    if isinstance(decision, Refuse):
        return decision.reason
    print(f"{node.machine}: {type(decision).__name__.lower()}")
    return ""


def main() -> int:
    """Return 0 once etcd may start, or 1 if it still may not start after :data:`PATIENCE_S`."""
    node = NodeConfig.read()
    deadline = time.monotonic() + PATIENCE_S
    reported = ""
    while why := attempt(node):
        if why != reported:
            print(f"{node.machine}{REFUSED}{why}", file=sys.stderr, flush=True)
            reported = why
        if time.monotonic() + RETRY_S > deadline:
            return 1
        time.sleep(RETRY_S)
    return 0
