"""Access of programs on the API servers' machines to the machines of pools: role assignments on the resource groups of
sites that have pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import authorization

from clouds.azure.roles import AUTOSCALER, READER
from components.azure.account import azure_site
from components.azure.role_assignments import role_assignment_name, role_definition_id
from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class PoolAccessArgs:
    """Arguments of the access."""

    environment: Environment
    principal_ids: Mapping[str, pulumi.Input[str]]
    """Object id of the program's identity on each API server machine, by machine."""
    resource_groups: Mapping[str, pulumi.Input[str]]
    """Name of each Azure site's resource group, by site."""


class AzureControllerAccess(ComponentResource):
    """Access of the node controller: it may read the machines."""

    def __init__(self, name: str, args: PoolAccessArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:ControllerAccess", name, None, opts)
        _assign(self, args, READER, verb="reads", key="site")
        self.register_outputs({})


class ScaleSetAccess(ComponentResource):
    """Access of the autoscaler: it may read the scale sets and, when it acts, size them."""

    def __init__(self, name: str, args: PoolAccessArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:AutoscalerAccess", name, None, opts)
        role, verb = (AUTOSCALER, "scales") if args.environment.scales else (READER, "looks")
        # An assignment's role cannot change, so another role needs another name.
        _assign(self, args, role, verb=verb, key=verb)
        self.register_outputs({})


def _assign(parent: ComponentResource, args: PoolAccessArgs, role: str, *, verb: str, key: str) -> None:
    """Assign a role to every identity. ``key`` is the part of the assignments' names that differs from other
    assignments of the same identities and sites."""
    environment = args.environment
    for site_name in sorted({pool.site for pool in environment.pools.values()} & args.resource_groups.keys()):
        subscription = azure_site(environment, site_name).subscription
        for machine, principal in args.principal_ids.items():
            authorization.RoleAssignment(
                f"{machine}-{verb}-site-{site_name}",
                role_assignment_name=role_assignment_name(subscription, environment.name, machine, key, site_name),
                scope=Output.concat(f"/subscriptions/{subscription}/resourceGroups/", args.resource_groups[site_name]),
                principal_id=principal,
                principal_type="ServicePrincipal",
                role_definition_id=role_definition_id(subscription, role),
                opts=ResourceOptions(parent=parent),
            )
