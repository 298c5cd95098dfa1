"""What was seen of an environment, before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clouds.base.tunnels import TunnelView

STILL = ("stopped", "deallocated")
"""Power states that only a start ends (learn.microsoft.com, "States and billing of Azure Virtual Machines")."""


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
class NodeView:
    """A node as the API has it."""

    name: str
    site: str
    pool: str
    ready: bool
    reason: str
    """Why it is not ready, or why it takes no pods."""
    created: str
    """RFC 3339."""
    version: str
    gpus: str = ""
    """Why its GPUs are held back; empty when they are not, or it has none."""


@dataclass(frozen=True, kw_only=True)
class AddonView:
    """A deployment or daemon set of the cluster's own."""

    name: str
    ready: int
    wanted: int


@dataclass(frozen=True, kw_only=True)
class ClusterView:
    """What the API said of what runs on it."""

    nodes: tuple[NodeView, ...] = ()
    addons: tuple[AddonView, ...] = ()
    error: str = ""
    """Why it said nothing; empty when it did."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """All of it."""

    cloud: Mapping[str, CloudView]
    """By machine."""
    answers: Mapping[str, NodeAnswer] = field(default_factory=dict)
    """By machine; those that run."""
    endpoint: Endpoint
    tunnels: tuple[TunnelView, ...] = ()
    blind: Mapping[str, str] = field(default_factory=dict)
    """Sites whose cloud could not be asked for tunnels, with the reason."""
    cluster: ClusterView = field(default_factory=ClusterView)
