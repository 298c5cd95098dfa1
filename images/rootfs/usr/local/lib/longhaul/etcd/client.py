"""Client of etcd that runs etcdctl, so that machines need no client library."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import SO_ERROR, SOL_SOCKET
from typing import Any
from urllib.parse import urlsplit

CONNECT_S = 1.0
"""Longest time in seconds to connect to an address that may not exist. A round trip inside a region takes less than 2
ms."""

COMMAND_S = 5.0
"""Longest duration in seconds of a command. A command to a member without a quorum takes this long."""

NOSPACE, CORRUPT = "NOSPACE", "CORRUPT"
ALARMS = {1: NOSPACE, 2: CORRUPT}
"""Names of the alarms whose numbers are in etcdctl's output (etcd 3.6, api/etcdserverpb, ``AlarmType``)."""


class EtcdError(Exception):
    """Raised if etcd refuses a command or cannot be reached."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member in the cluster's list of members."""

    id: int
    name: str
    """Name of the member; empty until the member has started once."""
    learner: bool
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EtcdMembers:
    """Members of an etcd cluster, as reported by a member that has a quorum."""

    id: int
    members: tuple[Member, ...]
    endpoint: str
    """Endpoint that answered."""


@dataclass(frozen=True, kw_only=True)
class EtcdMemberStatus:
    """State of a member, by its own report, which needs no quorum."""

    member: int
    cluster: int
    leader: int
    """Id of the leader; 0 if the member knows no leader."""
    learner: bool
    version: str
    db_size: int
    """Size of the database in bytes."""
    revision: int = 0
    """Newest revision that the member has."""


@dataclass(frozen=True, kw_only=True)
class Hash:
    """Hash of all keys and their history up to a revision. Two hashes are comparable only if their members have dropped
    the same part of the history."""

    value: int
    compacted: int
    """Revision before which the history has been dropped."""


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """An alarm of the whole cluster, and the member that it names."""

    member: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Etcdctl:
    """Runner of etcdctl with this machine's client certificate."""

    program: str = "/usr/local/bin/etcdctl"
    certificate: Path
    """File with certificate and key."""
    authority: Path
    """File with the authorities of the members' certificates."""
    limit_s: float = COMMAND_S

    def run(self, endpoint: str, *arguments: str) -> Any:
        """Run a command at an endpoint and return its JSON answer. If the command fails, raise ``EtcdError`` with the
        last line that etcdctl wrote."""
        done = self._run(endpoint, *arguments)
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            raise EtcdError(f"{endpoint}, {' '.join(arguments[:2])}: {words[-1]}")
        return json.loads(done.stdout)

    def _run(self, endpoint: str, *arguments: str, limit_s: float = 0.0) -> subprocess.CompletedProcess[str]:
        limit_s = limit_s or self.limit_s
        if not reachable(endpoint):
            raise EtcdError(f"{endpoint} does not answer")
        command = [
            self.program,
            f"--endpoints={endpoint}",
            f"--cert={self.certificate}",
            f"--key={self.certificate}",
            f"--cacert={self.authority}",
            f"--command-timeout={limit_s:g}s",
            "--write-out=json",
            *arguments,
        ]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=4 * limit_s, env={}, check=False)
        except subprocess.TimeoutExpired:
            raise EtcdError(f"{endpoint}, {' '.join(arguments[:2])}: no answer") from None

    def cluster(self, endpoint: str) -> EtcdMembers:
        """Return the members of the cluster. The answer needs consensus, so it shows that the cluster has a quorum."""
        answer = self.run(endpoint, "member", "list")
        return EtcdMembers(
            id=answer["header"]["cluster_id"],
            members=tuple(_member(raw) for raw in answer["members"]),
            endpoint=endpoint,
        )

    def first_cluster(self, endpoints: Iterable[str]) -> EtcdMembers | None:
        """Return the answer of the first endpoint that has a quorum, or None."""
        for endpoint in answering(endpoints):
            try:
                return self.cluster(endpoint)
            except EtcdError:
                continue
        return None

    def status(self, endpoint: str) -> EtcdMemberStatus:
        """Return the state of the member at ``endpoint``."""
        raw = self.run(endpoint, "endpoint", "status")[0]["Status"]
        return EtcdMemberStatus(
            member=raw["header"]["member_id"],
            cluster=raw["header"]["cluster_id"],
            leader=raw.get("leader", 0),
            learner=raw.get("isLearner", False),
            version=raw["version"],
            db_size=raw.get("dbSize", 0),
            revision=raw["header"].get("revision", 0),
        )

    def hash(self, endpoint: str, revision: int) -> Hash:
        """Return the hash of the data of the member at ``endpoint`` up to a revision. The member must have the
        revision."""
        raw = self.run(endpoint, "endpoint", "hashkv", f"--rev={revision}")[0]["HashKV"]
        return Hash(value=raw["hash"], compacted=raw["compact_revision"])

    def healthy(self, endpoint: str) -> bool:
        """Return whether the member at ``endpoint`` commits through a quorum and has raised no alarm."""
        return not self.ailment(endpoint)

    def ailment(self, endpoint: str) -> str:
        """Return the reason, in etcdctl's words, why the member at ``endpoint`` is not healthy; empty if it is
        healthy."""
        try:
            done = self._run(endpoint, "endpoint", "health")
            health = json.loads(done.stdout)[0]
        except EtcdError as error:
            return str(error)
        except (ValueError, IndexError, TypeError):
            return f"{endpoint}: no answer about its health"
        return "" if health["health"] else str(health.get("error") or "it is not healthy")

    def compact(self, endpoint: str, revision: int, *, limit_s: float) -> None:
        """Drop the history before a revision, and wait until it is dropped."""
        self._run_plain(endpoint, "compaction", "--physical", str(revision), limit_s=limit_s)

    def defragment(self, endpoint: str, *, limit_s: float) -> None:
        """Rewrite a member's database without the dropped history. The member answers no requests meanwhile."""
        self._run_plain(endpoint, "defrag", limit_s=limit_s)

    def alarms(self, endpoint: str) -> tuple[Alarm, ...]:
        """Return the alarms of the cluster."""
        return tuple(
            Alarm(member=raw["memberID"], name=ALARMS.get(raw["alarm"], str(raw["alarm"])))
            for raw in self.run(endpoint, "alarm", "list").get("alarms") or ()
        )

    def disarm(self, endpoint: str) -> None:
        """Lift all alarms of the cluster."""
        self.run(endpoint, "alarm", "disarm")

    def _run_plain(self, endpoint: str, *arguments: str, limit_s: float) -> None:
        """Run a command whose answer is not JSON."""
        done = self._run(endpoint, *arguments, limit_s=limit_s)
        if done.returncode != 0:
            words = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()] or ["no message"]
            raise EtcdError(f"{endpoint}, {arguments[0]}: {words[-1]}")

    def add_learner(self, endpoint: str, *, name: str, peer_url: str) -> tuple[Member, ...]:
        """Add a learner. Return all members, including the new one."""
        answer = self.run(endpoint, "member", "add", name, "--learner", f"--peer-urls={peer_url}")
        return tuple(_member(raw) for raw in answer["members"])

    def remove(self, endpoint: str, member: int) -> None:
        """Remove a member for good."""
        self.run(endpoint, "member", "remove", f"{member:x}")

    def move_leader(self, endpoint: str, member: int) -> None:
        """Make another member the leader. ``endpoint`` is the endpoint of the present leader."""
        self.run(endpoint, "move-leader", f"{member:x}")

    def promote(self, endpoint: str, member: int) -> None:
        """Make a learner a voting member. Raise ``EtcdError`` if the learner has not caught up with the leader."""
        self.run(endpoint, "member", "promote", f"{member:x}")


def _member(raw: dict[str, Any]) -> Member:
    return Member(
        id=raw["ID"],
        name=raw.get("name", ""),
        learner=raw.get("isLearner", False),
        peer_urls=tuple(raw.get("peerURLs", ())),
        client_urls=tuple(raw.get("clientURLs", ())),
    )


def answering(endpoints: Iterable[str]) -> Iterator[str]:
    """Yield the endpoints that accept connections, the fastest first. All endpoints are tried at once, because most
    planned addresses do not exist, and each of them would cost :data:`CONNECT_S`."""
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        for endpoint in endpoints:
            parts = urlsplit(endpoint)
            connection = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            connection.setblocking(False)
            connection.connect_ex((parts.hostname, parts.port))
            selector.register(connection, selectors.EVENT_WRITE, endpoint)
        deadline = time.monotonic() + CONNECT_S
        while selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                selector.unregister(key.fileobj)
                if isinstance(key.fileobj, socket.socket) and not key.fileobj.getsockopt(SOL_SOCKET, SO_ERROR):
                    yield key.data


def reachable(endpoint: str) -> bool:
    """Return whether the endpoint accepts connections."""
    return next(answering([endpoint]), None) is not None


def endpoints(members: Iterable[Member]) -> Iterator[str]:
    """Yield the first client URL of each voting member that has started."""
    return (member.client_urls[0] for member in members if member.client_urls and not member.learner)
