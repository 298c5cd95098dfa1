"""Lookup of existing resources, before anything is made beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulumi


class ExistingError(pulumi.RunError):
    """Raised when an existing resource that the environment names does not fit."""


def require(at: str, named: str, faults: Iterable[str]) -> None:
    """Raise :class:`ExistingError` with every fault of the resource that the file names at key ``at``; do nothing when
    there is none."""
    reasons = list(faults)
    if reasons:
        raise ExistingError(f"{at}: {named} does not fit:\n" + "\n".join(f"  - {fault}" for fault in reasons))


def was_answered(looked_up: Any) -> bool:
    """Return whether a provider answered a lookup. In a preview, a provider that cannot reach its cloud may answer
    nothing; then nothing can be checked."""
    return looked_up.id is not None or not pulumi.runtime.is_dry_run()
