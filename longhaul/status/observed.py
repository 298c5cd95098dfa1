"""What was seen of an environment, before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """What ``longhaul-node status`` on a machine answered."""

    ready: bool
    checks: tuple[tuple[str, bool, str], ...] = ()
    """Name, whether it is fine, detail."""
    members: tuple[Mapping[str, Any], ...] = ()
    """The store's members as this machine sees them."""
    error: str = ""
    """Why there is no answer; empty when there is one."""

    @property
    def reason(self) -> str:
        """Why it is not ready."""
        failed = [f"{name}: {detail}" if detail else name for name, ok, detail in self.checks if not ok]
        return self.error or "; ".join(failed) or "it gives no reason"


@dataclass(frozen=True, kw_only=True)
class CloudView:
    """A machine as its cloud sees it."""

    provisioning: str
    power: str


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """What the API answered through its load balancer."""

    url: str
    reached: bool
    """Whether a connection came about; from outside the environment's network none does."""
    ready: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """All of it."""

    cloud: Mapping[str, CloudView]
    """By machine."""
    answers: Mapping[str, NodeAnswer] = field(default_factory=dict)
    """By machine; those that run."""
    endpoint: Endpoint
