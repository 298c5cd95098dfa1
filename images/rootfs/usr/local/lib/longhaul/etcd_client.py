"""Asking etcd, through etcdctl: no client library is needed on the machines."""

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
"""Given to an address that may not exist. One round trip inside a region is below 2 ms."""

COMMAND_S = 5.0


class EtcdError(Exception):
    """etcd, or the way to it, said no."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member as the cluster knows it."""

    id: int
    name: str
    """Empty until it has started once."""
    learner: bool
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What a member with a quorum behind it says of its cluster."""

    id: int
    members: tuple[Member, ...]
    endpoint: str
    """Where the answer came from."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """What a member says of itself; needs no quorum."""

    member: int
    cluster: int
    leader: int
    """0 when it knows of none."""
    learner: bool
    version: str
    db_size: int
    """Bytes."""


@dataclass(frozen=True, kw_only=True)
class Etcdctl:
    """etcdctl with this machine's client identity."""

    program: str = "/usr/local/bin/etcdctl"
    certificate: Path
    """Certificate and key."""
    authority: Path
    """Issuers of the members' certificates."""

    def run(self, endpoint: str, *arguments: str) -> Any:
        """One command at one endpoint, its JSON answer; ``EtcdError`` with etcdctl's last words."""
        if not reachable(endpoint):
            raise EtcdError(f"{endpoint} does not answer")
        command = [
            self.program,
            f"--endpoints={endpoint}",
            f"--cert={self.certificate}",
            f"--key={self.certificate}",
            f"--cacert={self.authority}",
            f"--command-timeout={COMMAND_S:g}s",
            "--write-out=json",
            *arguments,
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=4 * COMMAND_S, env={}, check=False)
        except subprocess.TimeoutExpired:
            raise EtcdError(f"{endpoint}, {' '.join(arguments[:2])}: no answer") from None
        if done.returncode != 0:
            words = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
            raise EtcdError(f"{endpoint}, {' '.join(arguments[:2])}: {words[-1]}")
        return json.loads(done.stdout)

    def cluster(self, endpoint: str) -> Cluster:
        """The members, by consensus: an answer means that the cluster has a quorum."""
        answer = self.run(endpoint, "member", "list")
        return Cluster(
            id=answer["header"]["cluster_id"],
            members=tuple(_member(raw) for raw in answer["members"]),
            endpoint=endpoint,
        )

    def first_cluster(self, endpoints: Iterable[str]) -> Cluster | None:
        """What the first endpoint with a quorum behind it says."""
        for endpoint in answering(endpoints):
            try:
                return self.cluster(endpoint)
            except EtcdError:
                continue
        return None

    def status(self, endpoint: str) -> Status:
        """What the member at ``endpoint`` says of itself."""
        raw = self.run(endpoint, "endpoint", "status")[0]["Status"]
        return Status(
            member=raw["header"]["member_id"],
            cluster=raw["header"]["cluster_id"],
            leader=raw.get("leader", 0),
            learner=raw.get("isLearner", False),
            version=raw["version"],
            db_size=raw.get("dbSize", 0),
        )

    def healthy(self, endpoint: str) -> bool:
        """Whether the member at ``endpoint`` commits through a quorum and has raised no alarm."""
        try:
            return bool(self.run(endpoint, "endpoint", "health")[0]["health"])
        except EtcdError:
            return False

    def add_learner(self, endpoint: str, *, name: str, peer_url: str) -> tuple[Member, ...]:
        """Add a learner; every member after it."""
        answer = self.run(endpoint, "member", "add", name, "--learner", f"--peer-urls={peer_url}")
        return tuple(_member(raw) for raw in answer["members"])

    def remove(self, endpoint: str, member: int) -> None:
        """Remove a member for good."""
        self.run(endpoint, "member", "remove", f"{member:x}")

    def promote(self, endpoint: str, member: int) -> None:
        """Make a learner a voting member; ``EtcdError`` until it has caught up with the leader."""
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
    """The endpoints that accept connections, the quickest first. All are tried at once: most addresses of a plan do not
    exist, and each would cost its time limit."""
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
    """Whether something accepts connections there."""
    return next(answering([endpoint]), None) is not None


def endpoints(members: Iterable[Member]) -> Iterator[str]:
    """Where started voting members answer clients."""
    return (member.client_urls[0] for member in members if member.client_urls and not member.learner)
