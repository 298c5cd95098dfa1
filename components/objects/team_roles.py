"""Roles that people of teams make for the programs that they install, such as a notebook server that makes pods.

Kubernetes' role ``edit`` lacks them. A role that somebody makes contains no more than what they may do themselves
(kubernetes.io, "Using RBAC Authorization", "Privilege escalation prevention and bootstrapping"). The policy here limits
for whom roles are, and leaves out what would outlive its maker's rights: a program that asks for its own tokens, or
that makes roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, Resource, ResourceOptions
from pulumi_kubernetes.rbac.v1 import ClusterRole, RoleBinding

from components.objects.admission import refuse
from components.objects.object_metadata import meta
from components.objects.program_permissions import RBAC
from components.objects.team_conditions import CREATED, PART, by_trusted, kind, refusing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicySpecArgsDict
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, SubjectArgsDict

ROLES = "longhaul-team-roles"
"""Name of the policy."""
WRITER = "longhaul:team-roles"
"""Name of the role of teams' people, and of its binding in each team's namespace."""
WRITER_RULES: tuple[PolicyRuleArgsDict, ...] = (
    {
        "api_groups": [RBAC],
        "resources": ["roles", "rolebindings"],
        "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
    },
)
VIEW = "view"
"""The one ClusterRole that people of teams may bind."""

BOUND = (
    f"a team's people bind Roles, or the ClusterRole {VIEW}, to service accounts of their own namespace:"
    " what people may do is the environment file's"
)
LASTING = "a team's Roles contain no tokens, no impersonation, no roles and no rolebindings"
PINNED = "a team's people add no finalizers to Roles and bindings: these give their rights until they are gone"


class TeamRoles(ComponentResource):
    """The policy, and the role that it narrows."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:TeamRoles", name, None, opts)
        limit = refuse(ROLES, roles_policy(), part=PART, parent=self)
        # Granted once the policy is in force.
        options = ResourceOptions(parent=self, depends_on=[limit])
        self._role = ClusterRole(WRITER, metadata=meta(WRITER, part=PART), rules=list(WRITER_RULES), opts=options)
        self.register_outputs({})

    def grant(self, team: str, people: Sequence[SubjectArgsDict], *, namespace: Resource) -> None:
        """Let people of a team make roles in the team's namespace."""
        RoleBinding(
            f"longhaul-team-roles-{team}",
            metadata=meta(WRITER, part=PART, namespace=team),
            role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": WRITER},
            subjects=list(people),
            opts=ResourceOptions(parent=self, depends_on=[self._role, namespace]),
        )


def roles_policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Return the policy for what people of teams write of roles and bindings, and for what they delete. Whoever may
    give more rights than they have (``escalate``), such as an administrator, may do so here."""
    bindings = "request.resource.resource == 'rolebindings'"
    # RBAC takes the binding's namespace for a service account that names none (plugin/pkg/auth/authorizer/rbac).
    subjects = (
        "{side}.?subjects.orValue([]).all(s, s.kind == 'ServiceAccount'"
        " && s.?namespace.orValue('') in ['', request.namespace])"
    )
    referred = f"({{side}}.roleRef.kind == 'Role' || {{side}}.roleRef.name == '{VIEW}')"
    binding = _both(f"{subjects} && {referred}")
    lasting = "r.?resources.orValue([]).exists(x, x.endsWith('/token') || x in ['*', 'roles', 'rolebindings'])"
    # Kubernetes has more verbs of the kind, such as impersonate-on:… (kubernetes.io, "Constrained impersonation").
    # A Role without rules has null there.
    rules = _both(
        f"{{side}}.?rules.orValue(null) == null || {{side}}.rules.all(r, !{lasting}"
        " && !r.verbs.exists(v, v == '*' || v.startsWith('impersonate')))"
    )
    finalizers = "{}.metadata.?finalizers.orValue([])"
    before = f"({CREATED} ? [] : {finalizers.format('oldObject')})"
    unpinned = f"request.operation == 'DELETE' || {finalizers.format('object')}.all(f, f in {before})"
    escalates = f"authorizer.group('{RBAC}').resource('roles').namespace(request.namespace).check('escalate').allowed()"
    return refusing(
        [
            *kind(RBAC, "roles", "CREATE", "UPDATE", "DELETE"),
            *kind(RBAC, "rolebindings", "CREATE", "UPDATE", "DELETE"),
        ],
        {f"!({bindings}) || {binding}": BOUND, f"{bindings} || {rules}": LASTING, unpinned: PINNED},
        conditions=[{"name": "of-people", "expression": f"!({by_trusted()} || {escalates})"}],
    )


def _both(condition: str) -> str:
    """Return the condition (CEL) for the object before and after a request, as far as there is one."""
    before, after = (f"({condition.format(side=side)})" for side in ("oldObject", "object"))
    return f"({CREATED} || {before}) && (request.operation == 'DELETE' || {after})"
