"""Access of the autoscaler to Azure: its identities of the API servers' machines may read the scale sets of pools and,
when it acts, size them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import authorization

from clouds.azure.fleet import SCALES
from components.azure.account import azure_site
from components.azure.roles import role_assignment_name, role_definition_id
from components.model import Environment
from components.model.cloud_names import cloud_name

LINKED = (
    "Microsoft.Compute/galleries/images/versions/read",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
)
"""Actions on what a scale set's model names, which its writer needs where that is in the same resource group."""


@dataclass(frozen=True, kw_only=True)
class AutoscalerAccessArgs:
    """Arguments of the access."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of each API server machine's identity for the autoscaler, by machine."""
    resource_groups: Mapping[str, pulumi.Input[str]]
    """Name of each Azure site's resource group, by site."""


class AutoscalerAccess(ComponentResource):
    """A role for each site with pools, since no built-in one is as narrow, and its assignments there."""

    def __init__(self, name: str, args: AutoscalerAccessArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:AutoscalerAccess", name, None, opts)
        environment = args.environment
        for site_name in sorted({pool.site for pool in environment.pools.values()} & args.resource_groups.keys()):
            self._site(site_name, args)
        self.register_outputs({})

    def _site(self, site_name: str, args: AutoscalerAccessArgs) -> None:
        environment = args.environment
        subscription = azure_site(environment, site_name).subscription
        scope = Output.concat(f"/subscriptions/{subscription}/resourceGroups/", args.resource_groups[site_name])
        acts = environment.autoscaler is not None and not environment.autoscaler.dry_run
        id_ = role_assignment_name(subscription, environment.name, "autoscaler", site_name)
        role = authorization.RoleDefinition(
            f"{environment.name}-autoscaler-{site_name}",
            role_definition_id=id_,
            # Names of roles are unique in a directory, and environments of one name may be in two subscriptions.
            role_name=f"Longhaul autoscaler {cloud_name(environment, f'{environment.name}-{site_name}')} {id_[:8]}",
            description="Sizes the scale sets of one site's pools.",
            role_type="CustomRole",
            scope=scope,
            assignable_scopes=[scope],
            permissions=[
                authorization.PermissionArgs(
                    actions=[*SCALES, *LINKED] if acts else [one for one in SCALES if one.endswith("/read")],
                    not_actions=[],
                    data_actions=[],
                    not_data_actions=[],
                )
            ],
            opts=ResourceOptions(parent=self),
        )
        for machine, principal in args.principal_ids.items():
            authorization.RoleAssignment(
                f"{machine}-scales-site-{site_name}",
                role_assignment_name=role_assignment_name(subscription, environment.name, machine, "scales", site_name),
                scope=scope,
                principal_id=principal,
                principal_type="ServicePrincipal",
                role_definition_id=role_definition_id(subscription, id_),
                opts=ResourceOptions(parent=self, depends_on=[role]),
            )
