"""The autoscaler's objects on the cluster: its document and its rights. The autoscaler runs on the API servers'
machines (longhaul-autoscaler.service in images/rootfs)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pulumi
from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, Role, RoleBinding

from components.model import Environment
from components.model.autoscaler.document import CONFIGMAP, KEY, Given, to_text
from components.model.autoscaler.rights import Rule, everywhere, in_kube_system, leases
from components.model.loading.document import read_document
from components.model.secrets.certificates import AUTOSCALER_USER as USER
from components.objects.autoscaler_policies import PART, AutoscalerPolicies
from components.objects.object_metadata import meta
from components.objects.program_permissions import RBAC
from contract.object_names import SYSTEM_NAMESPACE
from contract.project import PRICE_FILE

if TYPE_CHECKING:
    from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict, SubjectArgsDict


@dataclass(frozen=True, kw_only=True)
class AutoscalerArgs:
    """Arguments of the autoscaler's objects on the cluster."""

    environment: Environment
    aws_role_arn: pulumi.Output[str | None]
    """ARN of the role that the autoscaler assumes in AWS; ``None`` without AWS."""
    prices: Mapping[str, Any] = field(default_factory=dict)


class AutoscalerAccess(ComponentResource):
    """The document, the roles and their bindings, and the policies that narrow them."""

    def __init__(self, name: str, args: AutoscalerArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Autoscaler", name, None, opts)
        child = ResourceOptions(parent=self)
        environment, prices = args.environment, args.prices
        acts = environment.scales
        document = args.aws_role_arn.apply(
            lambda role: to_text(Given(environment=environment, prices=prices, aws_role=role or ""))
        )
        ConfigMap(
            CONFIGMAP,
            metadata=meta(CONFIGMAP, part=PART, namespace=SYSTEM_NAMESPACE),
            data={KEY: document},
            opts=child,
        )
        lease_names = leases(environment.pools, acts=acts)
        # Without the policies, the roles grant more than intended, so the policies come first.
        guarded = AutoscalerPolicies(f"{name}-policies", leases=lease_names, opts=child).bindings
        bound = ResourceOptions(parent=self, depends_on=guarded)
        subject: SubjectArgsDict = {"kind": "User", "name": USER, "api_group": RBAC}
        wide = ClusterRole(USER, metadata=meta(USER, part=PART), rules=_typed(everywhere(acts=acts)), opts=child)
        ClusterRoleBinding(
            f"{USER}-binding",
            metadata=meta(USER, part=PART),
            role_ref={"api_group": RBAC, "kind": "ClusterRole", "name": USER},
            subjects=[subject],
            opts=ResourceOptions.merge(bound, ResourceOptions(depends_on=[wide])),
        )
        metadata = meta(USER, part=PART, namespace=SYSTEM_NAMESPACE)
        inside = Role(
            f"{USER}-{SYSTEM_NAMESPACE}",
            metadata=metadata,
            rules=_typed(in_kube_system(environment.pools, acts=acts)),
            opts=child,
        )
        RoleBinding(
            f"{USER}-{SYSTEM_NAMESPACE}-binding",
            metadata=metadata,
            role_ref={"api_group": RBAC, "kind": "Role", "name": USER},
            subjects=[subject],
            opts=ResourceOptions.merge(bound, ResourceOptions(depends_on=[inside])),
        )
        self.register_outputs({})


def _typed(rules: Iterable[Rule]) -> list[PolicyRuleArgsDict]:
    return [cast("PolicyRuleArgsDict", rule) for rule in rules]


def prices_of(environment: Environment, folder: Path) -> dict[str, Any]:
    """Return the entries of the price file in ``folder`` for the pools' machines; empty without a file. The autoscaler
    checks them like `longhaul prices` does."""
    path = folder / PRICE_FILE
    if not path.exists():
        return {}
    wanted = {
        (environment.sites[pool.site].kind, environment.sites[pool.site].region, pool.machine_type)
        for pool in environment.pools.values()
    }
    data = read_document(path).data
    entries = [
        entry
        for entry in data.get("machines") or ()
        if (entry.get("cloud"), entry.get("region"), entry.get("machine_type")) in wanted
    ]
    return {"format": data.get("format"), "machines": entries}
