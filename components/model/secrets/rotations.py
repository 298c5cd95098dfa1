"""Rotations with overlap: the new key and the former key are both accepted until everything that the former key signed
has expired or is replaced. Pure.

The vault's secret :data:`~components.model.secrets.vault.ROTATIONS` records the phase of each rotation that is not
over. It holds no key, so API servers fetch it and ``longhaul status`` shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from components.model.secrets.encryption_keys import RotationPhase

SERVICE_ACCOUNTS = "service-accounts"
"""Name of the rotation of the key that signs service accounts' tokens, for ``longhaul rotate``."""

AUTHORITY = "authority-"
"""Prefix of the name of an authority's rotation."""

READ_VARIABLE = "LONGHAUL_AUTHORITIES"
"""Environment variable with which the program reads the trusted authorities from the vault. A rotation sets it;
otherwise the state's value stays."""


def rotation_of(secret: str) -> str:
    """Return the name of the rotation of the authority whose key is in the vault's secret ``secret``."""
    return AUTHORITY + secret.removeprefix("ca-")


@dataclass(frozen=True, kw_only=True)
class RotationProgress:
    """Progress of a rotation."""

    phase: RotationPhase
    until: datetime | None = None
    """Time at which the last token or certificate signed by the former key expires; None while that is unknown."""


STEADY = RotationProgress(phase=RotationPhase.STEADY)


def parse_progress(text: str) -> dict[str, RotationProgress]:
    """Parse the vault's value; raise ``ValueError`` when it is malformed."""
    try:
        return {str(name): _standing(fields) for name, fields in json.loads(text).items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("it does not list phases of rotations") from None


def progress_text(standings: Mapping[str, RotationProgress]) -> str:
    """Return the vault's value. Rotations that are over are left out."""
    return json.dumps(
        {
            name: {"phase": str(standing.phase), "until": standing.until.isoformat() if standing.until else ""}
            for name, standing in sorted(standings.items())
            if standing.phase is not RotationPhase.STEADY
        }
    )


def _standing(fields: Mapping[str, str]) -> RotationProgress:
    until = fields.get("until", "")
    time = datetime.fromisoformat(until) if until else None
    if time is not None and time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return RotationProgress(phase=RotationPhase(fields["phase"]), until=time)
