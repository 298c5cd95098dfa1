"""The observed state of an environment, before it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from clouds.base.live_groups import LiveMachine
from clouds.base.tunnels import TunnelView
from contract.documents.quarantine import Quarantine
from longhaul.cluster.nodes import NodeView
from longhaul.control_plane.node_answers import NodeAnswer
from longhaul.status.ssh_probes import SshProbe
from longhaul.status.waiting_pods import WaitingPod


@dataclass(frozen=True, kw_only=True)
class CloudView:
    """A machine as its cloud reports it."""

    provisioning: str
    power: str


@dataclass(frozen=True, kw_only=True)
class ApiEndpoint:
    """Answer of the API through its load balancer."""

    url: str
    reached: bool
    """True when a connection was made, which is impossible from outside the environment's network."""
    ready: bool = False
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class AddonView:
    """A deployment or daemon set in the system's namespace."""

    name: str
    ready: int
    wanted: int
    on_gpus: bool = False
    """True when it runs only on machines with GPUs."""


@dataclass(frozen=True, kw_only=True)
class LateLease:
    """Lease of a node whose kubelet is late to renew it."""

    age: timedelta
    """Time since the lease was renewed."""
    expired: bool
    """True when that is longer than the lease lasts."""


@dataclass(frozen=True, kw_only=True)
class ClusterView:
    """Nodes and add-ons, as the API reported them."""

    nodes: tuple[NodeView, ...] = ()
    late: Mapping[str, LateLease] = field(default_factory=dict)
    """Leases of the nodes whose kubelets are late to renew them, by node."""
    addons: tuple[AddonView, ...] = ()
    pods: tuple[WaitingPod, ...] = ()
    """Pods that wait, but not for machines or for their turn."""
    refusals: tuple[str, ...] = ()
    """Refusals of the join endpoint and of the node controller, the newest first."""
    error: str = ""
    """Reason why the API did not report them; empty when it did."""

    def is_ready(self, node: NodeView) -> bool:
        """Return whether a node is ready, and its kubelet not silent. Kubernetes notices the latter ten seconds
        later."""
        return node.ready and not (node.name in self.late and self.late[node.name].expired)


@dataclass(frozen=True, kw_only=True)
class ReportedGroups:
    """All groups of a pool, as its cloud reports them."""

    machines: tuple[LiveMachine, ...] = ()
    wanted: int = 0
    """Number of machines that the groups should have."""
    made: Mapping[str, str] = field(default_factory=dict)
    """Creation times of machines without a Node, RFC 3339, by the name that their Node would have."""
    consoles: Mapping[str, str] = field(default_factory=dict)
    """Commands that show the console output of such machines, by the same names."""
    error: str = ""
    """Reason why the cloud did not report them; empty when it did."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Everything that was observed."""

    cloud: Mapping[str, CloudView]
    """Machines by name."""
    answers: Mapping[str, NodeAnswer] = field(default_factory=dict)
    """Answers of running machines, by machine."""
    endpoint: ApiEndpoint
    tunnels: tuple[TunnelView, ...] = ()
    blind: Mapping[str, str] = field(default_factory=dict)
    """Sites whose cloud could not be asked for tunnels, each with the reason."""
    cluster: ClusterView = field(default_factory=ClusterView)
    groups: Mapping[str, ReportedGroups] = field(default_factory=dict)
    """Groups by pool."""
    ssh_probes: Mapping[str, SshProbe] = field(default_factory=dict)
    """Answers over SSH, by machine: of all gateways, and of hosts whose Node is missing, not ready or late."""
    quarantine: Quarantine = field(default_factory=Quarantine)
    """The list of machines in quarantine; empty when it cannot be read."""
    quarantine_error: str = ""
    """Reason why the list cannot be read; empty when it can, or when the environment has none yet."""
    now: datetime = field(default_factory=lambda: datetime.now(tz=UTC))
