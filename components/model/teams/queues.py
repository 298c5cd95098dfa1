"""Queues of jobs: Kueue and JobSet on the API servers' machines (docs/queues.md).

An API server calls their webhooks at the loopback address of its own machine, so each machine runs both. The programs'
configuration in images/rootfs (usr/local/share/longhaul/*.yaml) repeats their ports.
"""

from __future__ import annotations

from dataclasses import dataclass

from components.model.environment import Environment
from contract.ports import JOBSET_HEALTH_PORT, JOBSET_PORT, KUEUE_HEALTH_PORT, KUEUE_PORT

NAMESPACE = "longhaul-queues"
"""Namespace of the programs' leases; nothing runs in it."""

FRAMEWORKS = {
    "batch/job": ("batch", "jobs"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io", "jobsets"),
    "pod": ("", "pods"),
}
"""Kinds that queue: Kueue's name of each (``integrations.frameworks``), and its API group and resource. Pods of all
other kinds queue one by one: Kueue would believe what a Deployment or a StatefulSet says of its pods."""


@dataclass(frozen=True, kw_only=True)
class Manager:
    """One of the programs."""

    name: str
    """Name of its unit, of its account on the machine, and of the part of its client certificate."""
    port: int
    """Port of its webhooks on the loopback address."""
    health_port: int
    """Port of its health endpoint on the loopback address, plain HTTP."""

    @property
    def user(self) -> str:
        """Name of its user at the API servers."""
        return f"longhaul:{self.name}"

    @property
    def serving(self) -> str:
        """Part of the certificate of its webhooks."""
        return f"{self.name}-webhook"

    @property
    def kubeconfig(self) -> str:
        """Path of its kubeconfig. Without that file its unit does not start."""
        return f"/etc/longhaul/{self.name}.kubeconfig"


KUEUE = Manager(name="kueue", port=KUEUE_PORT, health_port=KUEUE_HEALTH_PORT)
JOBSET = Manager(name="jobset", port=JOBSET_PORT, health_port=JOBSET_HEALTH_PORT)
MANAGERS = (KUEUE, JOBSET)


def webhooks_name(manager: Manager) -> str:
    """Return the name of both webhook configurations of a program."""
    return f"longhaul-{manager.name}"


def has_queues(environment: Environment) -> bool:
    """Return whether the environment has queues: by default when it has teams."""
    return bool(environment.teams) if environment.queues is None else environment.queues
