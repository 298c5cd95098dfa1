"""Judges rotations of keys by what API servers say. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from components.model.rotation import ENCRYPTION, Phase, phase_of
from longhaul.status.fleet import Verdict
from longhaul.status.observed import EncryptionView, Observed


@dataclass(frozen=True, kw_only=True)
class RotationStatus:
    """A rotation that is not over."""

    name: str
    verdict: Verdict
    reason: str
    phase: str = ""
    """Phase in which all servers are; empty when they differ."""
    keys: tuple[str, ...] = ()
    """Names of the keys that all servers have, in their order; empty when they differ."""


def judge_rotations(env: str, observed: Observed) -> tuple[RotationStatus, ...]:
    """Return the rotation of the encryption keys; nothing when all servers that answer use one and the same key."""
    found = {name: answer.encryption for name, answer in observed.answers.items() if answer.encryption is not None}
    lists = {view.keys for view in found.values()}
    again = f"`longhaul rotate --env {env} {ENCRYPTION}` goes on"
    if len(lists) > 1:
        said = "; ".join(f"{name} has {_named(view.keys)}" for name, view in sorted(found.items()))
        reason = f"{said}: they fetch the vault's keys within fifteen minutes; {again}"
        return (RotationStatus(name=ENCRYPTION, verdict=Verdict.DEGRADED, reason=reason),)
    keys = next(iter(lists), ())
    behind = sorted(name for name, view in found.items() if _behind(view))
    phase = phase_of(keys)
    if not behind and phase is Phase.STEADY:
        return ()
    reason = f"{keys[0]} encrypts, {_named(keys[1:])} only decrypts: {again}" if len(keys) > 1 else ""
    if behind:
        late = f"the kube-apiserver of {', '.join(behind)} does not use its newest keys yet: it looks once a minute"
        reason = "; ".join(filter(None, (reason, late)))
    verdict = Verdict.DEGRADED if behind else Verdict.OK
    return (RotationStatus(name=ENCRYPTION, verdict=verdict, reason=reason, phase=str(phase), keys=keys),)


def _behind(view: EncryptionView) -> bool:
    """Return whether a server is known to use other keys than it has."""
    return not view.loaded and not view.error


def _named(keys: tuple[str, ...]) -> str:
    return ", ".join(keys) or "none by name"
