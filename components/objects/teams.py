"""Teams: each has a namespace with limits, a queue for its part of the capacity, and rights for its people.

Kueue ignores objects that name no queue. So policies of the API servers (team_policies.py) give a team's objects the
team's queue and priority, let only Kueue start them, and keep GPUs from pods that bypass the queue. The queues and
priorities themselves are in team_queues.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding

from components.model import Environment
from components.objects.admission import mutate
from components.objects.object_metadata import meta
from components.objects.program_permissions import RBAC
from components.objects.team_conditions import PART
from components.objects.team_limits import declare_limits
from components.objects.team_policies import TeamPolicies
from components.objects.team_queues import TeamQueues
from components.objects.team_roles import TeamRoles
from components.objects.team_sizes import SIZES, sizes_policy
from contract.labels import TEAM_LABEL
from contract.object_names import AUTOSCALER, CAPACITY_CONFIGMAP, SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, SubjectArgsDict

    from components.model.teams.section import Team

READ = ("get", "list", "watch")
MEMBERS, READER, CAPACITY = "longhaul:team", "longhaul:teams", "longhaul:capacity"
"""Names of a binding and two roles: the binding of a team's people in the team's namespace, and the roles of all teams'
people, in the cluster and for the ConfigMaps of capacity."""

READER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    {"api_groups": [""], "resources": ["nodes"], "verbs": READ},
    {
        "api_groups": ["kueue.x-k8s.io"],
        "resources": ["clusterqueues", "cohorts", "resourceflavors", "workloadpriorityclasses"],
        "verbs": READ,
    },
)
"""Rights of all teams' people in the cluster: to see the nodes, and how much each team is guaranteed and uses."""
CAPACITY_RULES: tuple[PolicyRuleArgsDict, ...] = (
    {
        "api_groups": [""],
        "resources": ["configmaps"],
        "resource_names": [CAPACITY_CONFIGMAP, AUTOSCALER],
        "verbs": ["get"],
    },
)


class Teams(ComponentResource):
    """All teams, and the objects that they share."""

    def __init__(self, name: str, environment: Environment, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Teams", name, None, opts)
        self._child = ResourceOptions(parent=self)
        self._queues = TeamQueues(environment, parent=self)
        self._roles = TeamRoles(f"{name}-roles", opts=self._child)
        for team, declared in environment.teams.items():
            self._team(team, declared)
        self._everybody(dict.fromkeys(group for team in environment.teams.values() for group in team.groups))
        TeamPolicies(f"{name}-policies", opts=self._child)
        mutate(SIZES, sizes_policy(), part=PART, parent=self)
        self.register_outputs({})

    def _team(self, name: str, team: Team) -> None:
        labels = {TEAM_LABEL: name, "pod-security.kubernetes.io/enforce": "baseline"}
        namespace = Namespace(
            f"longhaul-namespace-{name}",
            metadata=meta(name, part=PART, more_labels=labels),
            # The namespace contains what people made.
            opts=ResourceOptions(parent=self, retain_on_delete=True),
        )
        inside = ResourceOptions(parent=self, depends_on=[namespace])
        declare_limits(name, opts=inside)
        RoleBinding(
            f"longhaul-team-{name}",
            metadata=meta(MEMBERS, part=PART, namespace=name),
            # The role includes JobSets and reading queues (components/objects/queue_managers.py).
            role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": "edit"},
            subjects=_subjects(team.groups),
            opts=inside,
        )
        self._roles.grant(name, _subjects(team.groups), namespace=namespace)
        self._queues.add(name, team, namespace=namespace)

    def _everybody(self, groups: Iterable[str]) -> None:
        """Let all teams' people see nodes, queues, and the ConfigMaps of capacity."""
        people = _subjects(groups)
        reader = ClusterRole(READER, metadata=meta(READER, part=PART), rules=list(READER_RULES), opts=self._child)
        ClusterRoleBinding(
            READER,
            metadata=meta(READER, part=PART),
            role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": READER},
            subjects=people,
            opts=ResourceOptions(parent=self, depends_on=[reader]),
        )
        metadata = meta(CAPACITY, part=PART, namespace=SYSTEM_NAMESPACE)
        role = Role(CAPACITY, metadata=metadata, rules=list(CAPACITY_RULES), opts=self._child)
        RoleBinding(
            f"{CAPACITY}-binding",
            metadata=metadata,
            role_ref={"api_group": RBAC, "kind": "Role", "name": CAPACITY},
            subjects=people,
            opts=ResourceOptions(parent=self, depends_on=[role]),
        )


def _subjects(groups: Iterable[str]) -> list[SubjectArgsDict]:
    return [{"kind": "Group", "name": group, "api_group": RBAC} for group in groups]
