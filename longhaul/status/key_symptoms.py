"""Symptoms of rotations of keys, and of machines in quarantine."""

from __future__ import annotations

from collections.abc import Sequence

from contract.reasons.status import StatusReason
from longhaul.status.symptom import Symptom, SymptomSubject

_STATUS = "longhaul status --env {env}"
_QUARANTINE = "longhaul machine quarantine --env {env} {name}"

KEYS: Sequence[Symptom] = (
    Symptom(
        shows="servers are in different phases of a rotation, have different keys, or use others than they have",
        look=_STATUS,
        mend="longhaul rotate --env {env} {name}",
        advice="which continues, if it is still so after a quarter of an hour",
        page="rotation.md#phases",
        subject=SymptomSubject.ROTATION,
        reasons=(StatusReason.PHASES_DIFFER, StatusReason.KEYS_DIFFER, StatusReason.KEYS_NOT_IN_USE),
        stated=True,
    ),
    Symptom(
        shows="a quarantine is incomplete: a Node of the machine exists, or an API server does not refuse it, or did "
        "not report whether it does",
        look=_STATUS,
        mend=_QUARANTINE,
        page="quarantine.md",
        subject=SymptomSubject.QUARANTINE,
        reasons=(
            StatusReason.NODE_PRESENT,
            StatusReason.NOT_REFUSED,
            StatusReason.HALF_DONE,
            StatusReason.REFUSAL_UNKNOWN,
        ),
        stated=True,
    ),
    Symptom(
        shows="a host in quarantine is not cut off",
        look=_STATUS,
        mend="longhaul hosts --env {env}",
        advice="after you have written `quarantined: true` into its entry of the hosts file",
        page="quarantine.md#a-host-of-a-rack",
        subject=SymptomSubject.QUARANTINE,
        reasons=(StatusReason.NOT_CUT_OFF,),
        stated=True,
    ),
    Symptom(
        shows="the list of machines in quarantine cannot be read",
        look="longhaul doctor --env {env}",
        advice="sign in as an operator who may read the vault; only officers write the list",
        page="quarantine.md",
        subject=SymptomSubject.QUARANTINE,
        reasons=(StatusReason.LIST_UNREADABLE,),
    ),
)
