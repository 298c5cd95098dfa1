"""Rights of people who sign in, by the people's groups. Bindings give a group Kubernetes' own roles, in the whole
cluster or in namespaces, and the role of people who may connect their laptops."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pulumi import ComponentResource, Resource, ResourceOptions
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, RoleBinding

from components.model import Environment
from components.model.vpn.section import RIGHT
from components.objects.object_metadata import meta
from components.objects.program_permissions import RBAC
from contract.annotations import GROUP_ANNOTATION

if TYPE_CHECKING:
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, SubjectArgsDict

PART = "groups"


VPN = "longhaul-vpn"
"""Role of people who may connect their laptops. The role's URL serves nothing: VPN machines ask the API whether a
person might get the URL."""


class GroupBindings(ComponentResource):
    """All bindings of groups, and the namespaces that the bindings name. Teams' namespaces are made elsewhere."""

    def __init__(self, name: str, environment: Environment, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Groups", name, None, opts)
        groups = environment.identity.groups
        # Teams' namespaces exist already.
        named = sorted({place for rights in groups.values() for place in rights.namespaces} - {*environment.teams})
        self._namespaces = {namespace: self._namespace(namespace) for namespace in named}
        if environment.vpn is not None:
            rules: list[PolicyRuleArgsDict] = [{"non_resource_urls": [RIGHT], "verbs": ["get"]}]
            ClusterRole(VPN, metadata=meta(VPN, part=PART), rules=rules, opts=ResourceOptions(parent=self))
        for group, rights in groups.items():
            if rights.vpn:
                self._bind(group, VPN)
            if rights.everywhere is not None:
                self._bind(group, rights.everywhere)
            for namespace, role in rights.namespaces.items():
                self._bind(group, role, namespace=namespace)
        self.register_outputs({})

    def _namespace(self, name: str) -> Resource:
        """Make a namespace unless it exists. It outlives its groups' rights, because it contains what people made."""
        options = ResourceOptions(parent=self, retain_on_delete=True)
        return Namespace(f"longhaul-namespace-{name}", metadata=meta(name, part=PART), opts=options)

    def _bind(self, group: str, role: str, *, namespace: str | None = None) -> None:
        """Bind a group to a role. The role is in the binding's name, since a binding's role cannot be changed."""
        name = f"longhaul:group:{hashlib.sha256(group.encode()).hexdigest()[:12]}:{role}"
        metadata = meta(name, part=PART, namespace=namespace, annotations={GROUP_ANNOTATION: group})
        subject: SubjectArgsDict = {"kind": "Group", "name": group, "api_group": RBAC}
        if namespace is None:
            ClusterRoleBinding(
                name,
                metadata=metadata,
                role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": role},
                subjects=[subject],
                opts=ResourceOptions(parent=self),
            )
            return
        RoleBinding(
            f"{name}:{namespace}",
            metadata=metadata,
            role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": role},
            subjects=[subject],
            opts=ResourceOptions(parent=self, depends_on=[*filter(None, [self._namespaces.get(namespace)])]),
        )
