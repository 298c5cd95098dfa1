"""The state of an environment as it was seen, before it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from clouds.base.live_groups import LiveMachine
from clouds.base.tunnels import TunnelView
from components.model.access.quarantine import Quarantine
from components.model.secrets.rotations import RotationStanding
from longhaul.status.knock import Knock

STILL = ("stopped", "deallocated")
"""Power states that last until the machine is started (learn.microsoft.com, "States and billing of Azure Virtual
Machines")."""


@dataclass(frozen=True, kw_only=True)
class CertificateView:
    """Validity of a certificate on a machine."""

    name: str
    begins: datetime
    ends: datetime


@dataclass(frozen=True, kw_only=True)
class EncryptionView:
    """Encryption keys of an API server."""

    keys: tuple[str, ...]
    """Names in their order: the first encrypts."""
    loaded: bool
    """True when the running server uses them."""
    error: str = ""
    """Reason why that is not known."""


@dataclass(frozen=True, kw_only=True)
class CredentialsView:
    """Knowledge of a control-plane machine about rotations with overlap."""

    role: str
    unused: tuple[str, ...]
    """Units that use other keys or authorities than the machine has."""
    rotations: Mapping[str, RotationStanding] | None = None
    """Rotations that are not over, by name; None on a machine that is not told of them."""
    authorities: frozenset[str] = frozenset()
    """SHA-256 of the authorities of API servers that it believes."""


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """Answer of ``longhaul-node status`` on a machine."""

    ready: bool
    checks: tuple[tuple[str, bool, str], ...] = ()
    """Name, success and detail of each check."""
    members: tuple[Mapping[str, Any], ...] = ()
    """Members of the etcd cluster as this machine sees them."""
    certificates: tuple[CertificateView, ...] = ()
    """Certificates of the machine; empty when it says nothing."""
    backup: Mapping[str, Any] = field(default_factory=dict)
    """A member's knowledge of the backups of its etcd cluster; empty when it says nothing."""
    encryption: EncryptionView | None = None
    """An API server's encryption keys; None when it says nothing."""
    credentials: CredentialsView | None = None
    """A machine's knowledge about rotations with overlap; None when it says nothing."""
    refuses: tuple[str, ...] | None = None
    """Machines in quarantine that an API server is known to refuse; None when it says nothing."""
    restore: str = ""
    """Backup of which a restore is half done there; empty without one."""
    error: str = ""
    """Reason why there is no answer; empty when there is one."""

    @property
    def reason(self) -> str:
        """Return why it is not ready."""
        failed = [f"{name}: {detail}" if detail else name for name, ok, detail in self.checks if not ok]
        return self.error or "; ".join(failed) or "it gives no reason"


@dataclass(frozen=True, kw_only=True)
class CloudView:
    """A machine as its cloud sees it."""

    provisioning: str
    power: str


@dataclass(frozen=True, kw_only=True)
class ApiEndpoint:
    """Answer of the API through its load balancer."""

    url: str
    reached: bool
    """True when a connection was made. From outside the environment's network none can be."""
    ready: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """A node as the API describes it."""

    name: str
    site: str
    pool: str
    ready: bool
    reason: str
    """Reason why it is not ready, or why it takes no pods."""
    created: str
    """Time of creation, RFC 3339."""
    version: str
    gpus: str = ""
    """Reason why its GPUs are held back; empty when they are not, or it has none."""
    authorities: frozenset[str] = frozenset()
    """SHA-256 of the authorities of API servers that it believes; empty when it says nothing."""


@dataclass(frozen=True, kw_only=True)
class AddonView:
    """A deployment or daemon set of the cluster's own."""

    name: str
    ready: int
    wanted: int
    on_gpus: bool = False
    """True when it runs on machines with GPUs alone."""


@dataclass(frozen=True, kw_only=True)
class ClusterView:
    """Nodes and add-ons, as the API reported them."""

    nodes: tuple[NodeView, ...] = ()
    late: frozenset[str] = frozenset()
    """Nodes whose kubelet is late to say that it is there; asked where there are hosts."""
    addons: tuple[AddonView, ...] = ()
    refusals: tuple[str, ...] = ()
    """Refusals of the join endpoint and of the node controller, the newest first."""
    error: str = ""
    """Reason why the API did not report them; empty when it did."""


@dataclass(frozen=True, kw_only=True)
class ReportedGroups:
    """All groups of a pool, as its cloud reports them."""

    machines: tuple[LiveMachine, ...] = ()
    wanted: int = 0
    """Number of machines that the groups should have."""
    made: Mapping[str, str] = field(default_factory=dict)
    """Time at which a machine without a Node was made, RFC 3339, by the name that its Node would have."""
    consoles: Mapping[str, str] = field(default_factory=dict)
    """Command that shows what such a machine says, by the same name."""
    error: str = ""
    """Reason why the cloud did not report them; empty when it did."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Everything that was seen."""

    cloud: Mapping[str, CloudView]
    """Machines by name."""
    answers: Mapping[str, NodeAnswer] = field(default_factory=dict)
    """Answers by machine, of those that run."""
    endpoint: ApiEndpoint
    tunnels: tuple[TunnelView, ...] = ()
    blind: Mapping[str, str] = field(default_factory=dict)
    """Sites whose cloud could not be asked for tunnels, with the reason."""
    cluster: ClusterView = field(default_factory=ClusterView)
    groups: Mapping[str, ReportedGroups] = field(default_factory=dict)
    """Groups by pool."""
    knocks: Mapping[str, Knock] = field(default_factory=dict)
    """Answers over SSH, by machine: of all gateways, and of hosts without a Ready node or late."""
    quarantine: Quarantine = field(default_factory=Quarantine)
    """The list of machines in quarantine; empty when it cannot be read."""
    quarantine_error: str = ""
    """Reason why the list cannot be read; empty when it can, or when the environment has none yet."""
    now: datetime = field(default_factory=lambda: datetime.now(tz=UTC))
