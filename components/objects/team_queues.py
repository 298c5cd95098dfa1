"""Queues of teams, and the priorities of their jobs: Kueue's objects (kueue.x-k8s.io/v1beta2, Kueue 0.19).

A team's queue is a LocalQueue in its namespace, and a ClusterQueue with the team's guarantees. All ClusterQueues are in
one Cohort, within which they lend unused capacity and take their own back. Capacity of pools beyond all guarantees
belongs to the Cohort, so it can be borrowed. The autoscaler decides which pool provides it: flavors are kinds of
capacity (:mod:`components.model.pools.capacity_kinds`), and never pools.

A team's priority is a WorkloadPriorityClass, by which Kueue orders jobs. Priorities of pods at the scheduler are in
pod_priorities.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import CustomResource, Resource, ResourceOptions

from components.model.pools.capacity_kinds import kinds
from components.objects.object_metadata import meta
from components.objects.queue_quotas import COHORT, cluster_queue, cohort, flavor, used_kinds
from components.objects.team_conditions import PART
from components.objects.team_policies import LOCAL
from contract.annotations import SKIP_AWAIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from components.model import Environment
    from components.model.teams.section import Team

API = "kueue.x-k8s.io/v1beta2"


class TeamQueues:
    """Declares the objects of all teams' queues as children of ``parent``."""

    def __init__(self, environment: Environment, *, parent: Resource) -> None:
        self._environment, self._parent, self._kinds = environment, parent, kinds(environment)
        flavors = [
            self._declare("ResourceFlavor", kind, flavor(self._kinds[kind]))
            for kind in used_kinds(environment, self._kinds)
        ]
        self._shared = [*flavors, self._declare("Cohort", COHORT, cohort(environment, self._kinds))]

    def add(self, name: str, team: Team, *, namespace: Resource) -> None:
        """Declare a team's queues and the priority of its jobs."""
        priority = self._declare("WorkloadPriorityClass", name, value=team.priority, description=f"Jobs of {name}")
        spec = cluster_queue(self._environment, name, self._kinds)
        queue = self._declare("ClusterQueue", name, spec, after=[*self._shared, namespace])
        self._declare("LocalQueue", LOCAL, {"clusterQueue": name}, namespace=name, after=[namespace, queue, priority])

    def _declare(
        self,
        kind: str,
        name: str,
        spec: Mapping[str, Any] | None = None,
        *,
        namespace: str | None = None,
        after: Iterable[Resource] = (),
        **others: Any,
    ) -> Resource:
        """Declare one of Kueue's objects. Nothing waits for the object's deletion: Kueue keeps the object while its
        jobs run."""
        where = f"-{namespace}" if namespace else ""
        return CustomResource(
            f"kubernetes:{API}:{kind}",
            f"longhaul-{kind.lower()}-{name}{where}",
            {
                "apiVersion": API,
                "kind": kind,
                "metadata": meta(name, part=PART, namespace=namespace, annotations={SKIP_AWAIT: "true"}),
                **({"spec": spec} if spec is not None else {}),
                **others,
            },
            opts=ResourceOptions(parent=self._parent, depends_on=[*after]),
        )
