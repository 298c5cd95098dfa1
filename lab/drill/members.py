"""Members of an environment's etcd clusters, queried on their machines."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from contract.paths import PKI
from contract.ports import ETCD_CLIENT_PORT
from lab.state import LabError

CLIENT = (f"--cert={PKI}/client.pem", f"--key={PKI}/client.pem", f"--cacert={PKI}/etcd-ca.crt", "--write-out=json")


class MemberMachines(Protocol):
    """Machines with addresses, on which commands run."""

    def output(self, machine: str, *command: str) -> str:
        """Return the output of a command that succeeds. Raise ``LabError`` with its message when it fails."""

    def address(self, machine: str) -> str:
        """Return a machine's address."""


EFFECT_S = 30.0
"""Seconds within which a fault must have an effect; an election takes at most two seconds."""


@dataclass(frozen=True, kw_only=True)
class DrillMember:
    """One member, as it reports itself."""

    machine: str
    leads: bool
    learner: bool
    revision: int
    term: int
    """Number of the term, which rises with each election."""
    db_size: int
    """Size of its database, bytes."""


def member(machines: MemberMachines, machine: str) -> DrillMember:
    """Return the member on ``machine``. Raise ``LabError`` when it does not answer."""
    status = ask(machines, machine, "endpoint", "status")[0]["Status"]
    member_id = status["header"]["member_id"]
    return DrillMember(
        machine=machine,
        leads=status.get("leader") == member_id,
        learner=bool(status.get("isLearner")),
        revision=int(status["header"]["revision"]),
        term=int(status["raftTerm"]),
        db_size=int(status["dbSize"]),
    )


def leader(machines: MemberMachines, names: Sequence[str]) -> str:
    """Return the machine of the leader. Raise ``LabError`` when no member that answers is the leader."""
    for name in names:
        try:
            if member(machines, name).leads:
                return name
        except LabError:
            continue
    raise LabError(f"none of {', '.join(names)} leads its etcd cluster")


def follower(machines: MemberMachines, names: Sequence[str]) -> str:
    """Return the machine of a follower. Raise ``LabError`` when no member that answers is the leader."""
    leads = leader(machines, names)
    return next(name for name in names if name != leads)


def term(machines: MemberMachines, names: Sequence[str]) -> int:
    """Return the newest term that a member knows. Raise ``LabError`` when no member answers."""
    terms = []
    for name in names:
        with suppress(LabError):
            terms.append(member(machines, name).term)
    if not terms:
        raise LabError(f"none of {', '.join(names)} answers")
    return max(terms)


def await_successor(machines: MemberMachines, names: Sequence[str], *, of: str) -> None:
    """Wait until a member other than the one on ``of`` leads. Raise ``LabError`` when none does within
    :data:`EFFECT_S`."""
    others = [name for name in names if name != of]
    await_effect(lambda: leader(machines, others) != of, what=f"another member than {of} leads")


def await_effect(shows: Callable[[], bool], *, what: str, within_s: float = EFFECT_S) -> None:
    """Wait until ``shows`` is true: the fault has an effect. Raise ``LabError`` after ``within_s`` seconds, because a
    fault without effect tests nothing. ``shows`` may raise ``LabError`` meanwhile."""
    deadline = time.monotonic() + within_s
    while True:
        with suppress(LabError):
            if shows():
                return
        if time.monotonic() > deadline:
            raise LabError(f"the fault has no effect after {within_s:.0f} s: not so: {what}")
        time.sleep(0.1)


def answers(machines: MemberMachines, machine: str) -> bool:
    """Return whether the member on ``machine`` commits through a quorum."""
    try:
        return bool(ask(machines, machine, "endpoint", "health")[0]["health"])
    except LabError:
        return False


def hashes(machines: MemberMachines, names: Sequence[str]) -> dict[str, int]:
    """Return each voter's hash of all keys and their history, at a revision that all voters have. Raise ``LabError``
    when a member does not answer."""
    voters = [voter for voter in (member(machines, name) for name in names) if not voter.learner]
    revision = min(voter.revision for voter in voters)
    return {voter.machine: _hash(machines, voter.machine, revision) for voter in voters}


def _hash(machines: MemberMachines, machine: str, revision: int) -> int:
    answer = ask(machines, machine, "endpoint", "hashkv", f"--rev={revision}")[0]
    return int(answer["HashKV"]["hash"])


def ask(machines: MemberMachines, machine: str, *command: str) -> Any:
    """Return the answer of etcdctl on a machine about the machine's member. Raise ``LabError`` when etcdctl fails."""
    endpoint = f"--endpoints=https://{machines.address(machine)}:{ETCD_CLIENT_PORT}"
    return json.loads(machines.output(machine, "/usr/local/bin/etcdctl", endpoint, *CLIENT, *command))
