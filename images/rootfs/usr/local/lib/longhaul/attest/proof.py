"""What every kind of proof is looked at for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from controller.environment import Environment
from controller.request import Attested, RefusedError

FRESH = timedelta(minutes=5)
"""How old a proof may be, by its own signed date, and how far a machine's clock may be ahead."""


OBJECTS = "bring up the objects (`longhaul up --only objects`)"
"""What helps when the cluster has not been told of what is needed here."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a proof has to be an answer to."""

    environment: Environment
    fingerprint: str
    """Of the key that a certificate is wanted for."""
    challenge: str


class Verifier(Protocol):
    """One cloud's proofs."""

    def attested(self, proof: Mapping[str, object], question: Question) -> Attested:
        """Which machine it is; ``RefusedError`` when it proves none of ours, ``SourceError`` when that cannot be found
        out now. Neither says anything of the proof's secrets."""


def text(proof: Mapping[str, object], key: str, pattern: str) -> str:
    """A field of a proof; ``RefusedError`` when it is none of that form."""
    value = proof.get(key)
    if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
        raise RefusedError("Malformed", f"the proof's {key} is missing or not of its form")
    return value


def check_fresh(signed_at: datetime, *, now: datetime) -> None:
    """``RefusedError`` for a proof of another time."""
    if abs(now - signed_at) > FRESH:
        raise RefusedError("StaleProof", f"the proof is of {signed_at.isoformat()}, and it is {now.isoformat()}")
