"""Common parts of all kinds of proof: the question that a proof answers, its age, and its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from contract.certificate_requests import Attested, RefusedError
from contract.documents.node_controller import NodeEnvironment

FRESH = timedelta(minutes=5)
"""Largest age of a proof by its signed date, and largest time by which a machine's clock may be ahead."""


OBJECTS = "bring up the objects (`longhaul up --only objects`)"
"""Advice in messages about objects that the cluster lacks."""


@dataclass(frozen=True, kw_only=True)
class ProofQuestion:
    """Question that a proof must answer."""

    environment: NodeEnvironment
    fingerprint: str
    """Fingerprint of the key for which a certificate is requested."""
    challenge: str


class Verifier(Protocol):
    """Verifies the proofs of one cloud."""

    def attested(self, proof: Mapping[str, object], question: ProofQuestion) -> Attested:
        """Return the machine that the proof identifies. Raise ``RefusedError`` if it is not a machine of this
        environment, and ``SourceError`` if that cannot be determined now. The messages contain no secrets of the
        proof."""


def text(proof: Mapping[str, object], key: str, pattern: str) -> str:
    """Return a field of a proof. Raise ``RefusedError`` if the field is missing or does not match ``pattern``."""
    value = proof.get(key)
    if not isinstance(value, str) or re.fullmatch(pattern, value) is None:
        raise RefusedError("Malformed", f"the proof's {key} is missing or not of its form")
    return value


def check_fresh(signed_at: datetime, *, now: datetime) -> None:
    """Raise ``RefusedError`` for a proof whose date is too far from now."""
    if abs(now - signed_at) > FRESH:
        raise RefusedError("StaleProof", f"the proof is of {signed_at.isoformat()}, and it is {now.isoformat()}")
