"""The environment under test, and the means to query it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from components.model import Environment
from contract.kubernetes.api import Api
from longhaul.acceptance.steps import Runs
from longhaul.acceptance.time_limit import Deadline


@dataclass(frozen=True, kw_only=True)
class AcceptanceTarget:
    """One environment under test."""

    environment: Environment
    commands: Runs
    api: Callable[[str], Api]
    """Returns the cluster's API as a user of this name, who is in no group; an empty name is the administrator."""
    exported: Callable[[], dict[str, str]]
    """Returns the engine's state by stack name, with its secrets decrypted. Missing stacks are left out."""
    limit: Deadline
    """Deadline of all checks."""
    within_s: float
    """Time that one awaited condition may take, seconds."""
    image: str
    """Container image of Kubernetes' agnhost."""

    def condition_deadline(self) -> Deadline:
        """Return the deadline for a condition that is awaited from now on."""
        return self.limit.within(self.within_s)
