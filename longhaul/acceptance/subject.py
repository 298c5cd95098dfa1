"""What is looked at: an environment, and the ways to ask it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from components.model import Environment
from longhaul.acceptance.limit import Limit
from longhaul.acceptance.steps import Runs
from longhaul.kubernetes.api import Api


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One environment under test."""

    environment: Environment
    commands: Runs
    api: Callable[[str], Api]
    """The cluster's API, asked as the user of that name, who is in no group of worth; empty for the administrator."""
    exported: Callable[[], dict[str, str]]
    """What the engine keeps of each stack that there is, by the stack's name, its secrets in the clear."""
    limit: Limit
    """When all checks have to be over."""
    within_s: float
    """How long one thing may take to come about, seconds."""
    image: str
    """Container image of Kubernetes' agnhost."""

    def soon(self) -> Limit:
        """The limit of one thing that has to come about."""
        return self.limit.within(self.within_s)
