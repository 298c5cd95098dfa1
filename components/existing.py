"""What is there already, looked up before anything is made beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulumi


class ExistingError(pulumi.RunError):
    """Something that the environment names is not what it has to be."""


def require(at: str, named: str, faults: Iterable[str]) -> None:
    """Raise :class:`ExistingError` with every fault of what the file names at ``at``; nothing without any."""
    found = list(faults)
    if found:
        raise ExistingError(f"{at}: {named} does not fit:\n" + "\n".join(f"  - {fault}" for fault in found))


def is_told(looked_up: Any) -> bool:
    """Whether a provider told of what it was asked. One that reaches no cloud may tell nothing while something is
    previewed, and then nothing can be said against it."""
    return looked_up.id is not None or not pulumi.runtime.is_dry_run()
