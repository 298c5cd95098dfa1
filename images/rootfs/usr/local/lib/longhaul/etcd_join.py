#!/usr/bin/env python3
"""Decide how this etcd member starts, before it does. A store is founded once in its life, never twice.

With data, the member just starts, unless the cluster has removed it. Without, it joins the cluster that another member
answers for. Only when the vault says that the store is new, those that it names found it together: nobody can use the
store before the vault says that it exists. Everything else is refused: the unit fails with the reason, and is tried
again. The answer is left in /run/longhaul/etcd-join.env for etcd.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import fetch_secrets
from etcd_client import Cluster, Etcdctl, EtcdError, Member
from etcd_wal import Identity, WalError, identity
from node_config import PKI, Node, client_url, peer_url
from vault import VaultError

DATA = Path("/var/lib/longhaul/ssd/etcd")
ENVIRONMENT = Path("/run/longhaul/etcd-join.env")

PATIENCE_S = 60.0
"""How long to try before the unit fails (and is tried again): etcd adds no member within 5 s of another one's arrival
(etcd 3.6, server/etcdserver/server.go ``HealthInterval``), and a machine's network comes up while this runs."""

RETRY_S = 1.0

UNHEALTHY = "unhealthy cluster"
"""etcd's word for it (etcd 3.6, server/etcdserver/errors)."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What the vault says of the store."""

    state: str
    """``new`` until its first members were healthy, then ``existing``."""
    cluster: str = ""
    """The cluster's id in hexadecimal, once known."""
    founders: tuple[str, ...] = ()
    """Who founds it, by machine: those that there were when the secret was made, for every founder must name the same.
    Without any, the member of index 0."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """Start with the data that is there."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Found the store, together with the others that do."""

    founders: tuple[str, ...]
    """All of them, by machine."""


@dataclass(frozen=True, kw_only=True)
class Join:
    """Join the cluster that answers, after these members of the same name or address were removed from it."""

    stale: tuple[Member, ...]


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """Do not start."""

    reason: str


def decide(
    *, node: Node, local: Identity | None, cluster: Cluster | None, state: State | None
) -> Start | Found | Join | Refuse:
    """What to do. ``cluster`` is what another member answered with a quorum behind it, ``state`` what the vault
    holds (None when it could not be read; not needed with data)."""
    if local is not None:
        return _with_data(local, cluster)
    if state is None:
        return Refuse(
            reason=f"the vault's secret {node.state_secret} cannot be read, so whether this store exists is unknown"
        )
    founders = state.founders or _first(node)
    if cluster is not None:
        late = state.state == "new" and node.machine in founders and _awaited(node, cluster)
        return Found(founders=founders) if late else _join(node, cluster, state)
    if state.state == "new" and node.machine in founders:
        return Found(founders=founders)
    if state.state == "new":
        return Refuse(
            reason=f"no member of the new store answers; {', '.join(founders)} found it, {node.machine} only joins"
        )
    if state.state == "existing":
        return Refuse(
            reason=f"{node.machine} has no data, the store exists ({node.state_secret}), and no other member "
            "answers with a quorum. Bring the other members back. If there are none, the data is gone: restore the "
            "store from a snapshot"
        )
    return Refuse(reason=f"the vault's secret {node.state_secret} says {state.state!r}; it must say new or existing")


def _first(node: Node) -> tuple[str, ...]:
    return (next(iter(node.stores[node.role])),)


def _awaited(node: Node, cluster: Cluster) -> bool:
    """Whether the founders that are quicker already are a quorum, and have this one as a member that never started."""
    return any(peer_url(node.address) in member.peer_urls and not member.client_urls for member in cluster.members)


def _with_data(local: Identity, cluster: Cluster | None) -> Start | Refuse:
    if cluster is None:
        return Start()
    if local.cluster != cluster.id:
        return Refuse(
            reason=f"the data on this disk is of cluster {local.cluster:x}, but {cluster.endpoint} is of "
            f"cluster {cluster.id:x}. Nothing was deleted; replace this machine"
        )
    if local.member not in {member.id for member in cluster.members}:
        return Refuse(
            reason=f"the data on this disk is of member {local.member:x}, which was removed from the cluster. "
            "Nothing was deleted; replace this machine"
        )
    return Start()


def _join(node: Node, cluster: Cluster, state: State) -> Join | Refuse:
    if state.cluster and int(state.cluster, 16) != cluster.id:
        return Refuse(
            reason=f"{cluster.endpoint} answers for cluster {cluster.id:x}, but {node.state_secret} names "
            f"{state.cluster}: two stores with one name"
        )
    own = peer_url(node.address)
    stale = tuple(member for member in cluster.members if member.name == node.machine or own in member.peer_urls)
    return Join(stale=stale)


def join(node: Node, etcdctl: Etcdctl, cluster: Cluster, stale: tuple[Member, ...]) -> str:
    """Make room, become a learner, and return ``ETCD_INITIAL_CLUSTER``; ``EtcdError`` when the cluster refuses."""
    for member in stale:
        print(f"removing the old member {member.id:x} ({member.name or 'never started'})", flush=True)
        etcdctl.remove(cluster.endpoint, member.id)
    own = peer_url(node.address)
    try:
        members = etcdctl.add_learner(cluster.endpoint, name=node.machine, peer_url=own)
    except EtcdError as error:
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
    node: Node, *, etcdctl: Etcdctl, read: Callable[[str], str], data: Path, environment: Path
) -> Start | Found | Join | Refuse:
    """Decide, act, and leave etcd its environment. ``EtcdError``, ``VaultError`` or ``WalError`` when something
    fails on the way."""
    local = identity(data)
    cluster = etcdctl.first_cluster(client_url(address) for address in node.peers.values())
    state = _state(node, read) if local is None else None
    decision = decide(node=node, local=local, cluster=cluster, state=state)
    if isinstance(decision, Refuse):
        environment.unlink(missing_ok=True)
    elif isinstance(decision, Join) and cluster is not None:
        _write(environment, "existing", join(node, etcdctl, cluster, decision.stale))
    elif isinstance(decision, Found):
        _write(environment, "new", _initial(node, decision.founders))
    else:
        # With data etcd ignores both; should it see no data after all, "existing" keeps it from founding.
        _write(environment, "existing", _initial(node, (node.machine,)))
    return decision


def _initial(node: Node, machines: tuple[str, ...]) -> str:
    places = node.stores[node.role]
    return ",".join(f"{machine}={peer_url(places[machine])}" for machine in machines)


def _write(environment: Path, state: str, members: str) -> None:
    environment.write_text(f"ETCD_INITIAL_CLUSTER_STATE={state}\nETCD_INITIAL_CLUSTER={members}\n")


def _state(node: Node, read: Callable[[str], str]) -> State | None:
    try:
        raw = json.loads(read(node.state_secret))
        return State(**{**raw, "founders": tuple(raw.get("founders", ()))})
    except VaultError as error:
        print(error, file=sys.stderr)
        return None
    except (AttributeError, ValueError, TypeError):
        raise VaultError(f'secret {node.state_secret}: its value is not {{"state": …, "cluster": …}}') from None


def attempt(node: Node) -> str:
    """Try once; empty when etcd may start, else why not."""
    etcdctl = Etcdctl(certificate=PKI / "client.pem", authority=PKI / "etcd-ca.crt")
    vault = fetch_secrets.Config.read(fetch_secrets.CONFIG).open()
    try:
        decision = prepare(node, etcdctl=etcdctl, read=vault.read, data=DATA, environment=ENVIRONMENT)
    except (EtcdError, VaultError, WalError) as error:
        return str(error)
    if isinstance(decision, Refuse):
        return decision.reason
    print(f"{node.machine}: {type(decision).__name__.lower()}")
    return ""


def main() -> int:
    """0 when etcd may start."""
    node = Node.read()
    deadline = time.monotonic() + PATIENCE_S
    said = ""
    while why := attempt(node):
        if why != said:
            print(f"{node.machine} does not start: {why}", file=sys.stderr, flush=True)
            said = why
        if time.monotonic() + RETRY_S > deadline:
            return 1
        time.sleep(RETRY_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
