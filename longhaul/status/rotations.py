"""Judges rotations of keys by the reports of control-plane machines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from components.model.control_plane.machines import Role
from components.model.secrets.certificates import ETCD_CLIENT, KUBERNETES
from components.model.secrets.encryption_keys import ENCRYPTION, RotationPhase, phase_of
from components.model.secrets.rotations import AUTHORITY, SERVICE_ACCOUNTS, STEADY, RotationProgress
from contract.documents.node_answers import ServerKeys
from contract.reasons.status import StatusReason
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.observed import Observed

NAMED = 10
"""Maximum number of nodes that are named."""


@dataclass(frozen=True, kw_only=True)
class RotationStatus:
    """Verdict on an unfinished rotation."""

    name: str
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    phase: str = ""
    """Phase of all servers; empty when they differ."""
    keys: tuple[str, ...] = ()
    """Names of the keys that all servers have, in order; empty when they differ."""
    until: str = ""
    """Time at which everything that the former key signed has expired, ISO 8601; empty when it is not known."""


def judge_rotations(env: str, observed: Observed) -> tuple[RotationStatus, ...]:
    """Return the unfinished rotations, as far as the answering API servers know them."""
    return (*_encryption(env, observed), *_overlaps(env, observed))


def _overlaps(env: str, observed: Observed) -> Iterator[RotationStatus]:
    """Yield rotations with overlap, and rotations for which a machine's programs use older keys than the machine
    has."""
    views = {name: answer.credentials for name, answer in observed.answers.items() if answer.credentials is not None}
    rotations = {name: view.rotations for name, view in views.items() if view.rotations is not None}
    names = {rotation for standings in rotations.values() for rotation in standings}
    late: dict[str, list[str]] = {}
    for machine, view in sorted(views.items()):
        restarting = _restarting(view.role) if view.unused else ()
        for name in [rotation for rotation in restarting if rotation in names] or restarting[:1]:
            late.setdefault(name, []).append(machine)
    for name in sorted(names | late.keys()):
        standings = {server: known.get(name, STEADY) for server, known in rotations.items()}
        again = f"`longhaul rotate --env {env} {name}` continues"
        status = _overlap(name, standings, late.get(name, ()), again=again, now=observed.now)
        yield _followed(status, observed) if name == AUTHORITY + KUBERNETES else status


def _followed(status: RotationStatus, observed: Observed) -> RotationStatus:
    """Return the rotation of the API servers' authority, with the nodes whose trusted authorities differ from the
    servers' trusted authorities."""
    views = [answer.credentials for answer in observed.answers.values() if answer.credentials is not None]
    wanted = {view.authorities for view in views if view.role == Role.API}
    left = [node.name for node in observed.cluster.nodes if {node.authorities} != wanted]
    if len(wanted) != 1 or not left:
        return status
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    message = f"{status.message}; nodes that have not followed yet: {', '.join(left[:NAMED])}{more}"
    return replace(status, message=message)


def _restarting(role: str) -> tuple[str, ...]:
    """Return the rotations in which programs on a role's machines restart."""
    clients = AUTHORITY + ETCD_CLIENT
    members = tuple(f"{AUTHORITY}{member}" for member in Role if member.is_etcd)
    of_api = (SERVICE_ACCOUNTS, AUTHORITY + KUBERNETES)
    return (*of_api, *members, clients) if role == Role.API else (AUTHORITY + role, clients)


def _overlap(
    name: str, standings: Mapping[str, RotationProgress], late: Sequence[str], *, again: str, now: datetime
) -> RotationStatus:
    if len(set(standings.values())) > 1:
        phases = ", ".join(f"{server}: {view.phase}" for server, view in sorted(standings.items()))
        return RotationStatus(
            name=name,
            verdict=StatusVerdict.DEGRADED,
            reason=StatusReason.PHASES_DIFFER,
            message=f"servers are in different phases ({phases}), and fetch within fifteen minutes; {again}",
        )
    standing = next(iter(standings.values()), STEADY)
    if late:
        message = f"programs of {', '.join(late)} use other keys than these machines have: {again}"
    elif standing.until and standing.until > now:
        message = f"{_PHASES[standing.phase]} until {standing.until:%Y-%m-%d %H:%M} UTC; then {again}"
    else:
        message = f"{_PHASES[standing.phase]}: {again}"
    return RotationStatus(
        name=name,
        verdict=StatusVerdict.DEGRADED if late else StatusVerdict.OK,
        reason=StatusReason.KEYS_NOT_IN_USE if late else StatusReason.ROTATING,
        message=message,
        phase=str(standing.phase),
        until=standing.until.isoformat() if standing.until else "",
    )


_PHASES = {
    RotationPhase.STEADY: "it is over",
    RotationPhase.TRUST: "the former key signs, both are trusted",
    RotationPhase.USE: "the new key signs, both are trusted",
    RotationPhase.DISTRUST: "the new key signs, and programs are to trust only it",
}


def _encryption(env: str, observed: Observed) -> tuple[RotationStatus, ...]:
    """Return the rotation of the encryption keys; nothing when all answering servers use the same single key."""
    views = {name: answer.encryption for name, answer in observed.answers.items() if answer.encryption is not None}
    lists = {view.keys for view in views.values()}
    again = f"`longhaul rotate --env {env} {ENCRYPTION}` continues"
    if len(lists) > 1:
        keys_of = "; ".join(f"{name} has {_named(view.keys)}" for name, view in sorted(views.items()))
        status = RotationStatus(
            name=ENCRYPTION,
            verdict=StatusVerdict.DEGRADED,
            reason=StatusReason.KEYS_DIFFER,
            message=f"{keys_of}: they fetch the vault's keys within fifteen minutes; {again}",
        )
        return (status,)
    keys = next(iter(lists), ())
    behind = sorted(name for name, view in views.items() if _behind(view))
    phase = phase_of(keys)
    if not behind and phase is RotationPhase.STEADY:
        return ()
    message = f"{keys[0]} encrypts, {_named(keys[1:])} only decrypts: {again}" if len(keys) > 1 else ""
    if behind:
        late = f"the kube-apiserver of {', '.join(behind)} does not use its newest keys yet: it looks once a minute"
        message = "; ".join(filter(None, (message, late)))
    status = RotationStatus(
        name=ENCRYPTION,
        verdict=StatusVerdict.DEGRADED if behind else StatusVerdict.OK,
        reason=StatusReason.KEYS_NOT_IN_USE if behind else StatusReason.ROTATING,
        message=message,
        phase=str(phase),
        keys=keys,
    )
    return (status,)


def _behind(view: ServerKeys) -> bool:
    """Return whether a server uses other keys than its machine has."""
    return not view.loaded and not view.error


def _named(keys: tuple[str, ...]) -> str:
    return ", ".join(keys) or "none by name"
