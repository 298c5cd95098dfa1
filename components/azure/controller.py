"""Access of the node controller to Azure: it may read the machines of pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import authorization

from components.azure.account import azure_site
from components.azure.roles import READER, role_assignment_name, role_definition_id
from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class AzureControllerAccessArgs:
    """Arguments of the access."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of each API server machine's identity, by machine."""
    resource_groups: Mapping[str, pulumi.Input[str]]
    """Name of each Azure site's resource group, by site."""


class AzureControllerAccess(ComponentResource):
    """Role assignments: each API server machine may read the resource groups of sites that have pools."""

    def __init__(self, name: str, args: AzureControllerAccessArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:ControllerAccess", name, None, opts)
        environment = args.environment
        for site_name in sorted({pool.site for pool in environment.pools.values()} & args.resource_groups.keys()):
            subscription = azure_site(environment, site_name).subscription
            for machine, principal in args.principal_ids.items():
                authorization.RoleAssignment(
                    f"{machine}-reads-site-{site_name}",
                    role_assignment_name=role_assignment_name(
                        subscription, environment.name, machine, "site", site_name
                    ),
                    scope=Output.concat(
                        f"/subscriptions/{subscription}/resourceGroups/", args.resource_groups[site_name]
                    ),
                    principal_id=principal,
                    principal_type="ServicePrincipal",
                    role_definition_id=role_definition_id(subscription, READER),
                    opts=ResourceOptions(parent=self),
                )
        self.register_outputs({})
