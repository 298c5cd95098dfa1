"""The environment's vault, which holds the private keys of the control plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import authorization, keyvault

from clouds.azure.roles import SECRETS_OFFICER, SECRETS_USER
from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.azure.role_assignments import PRINCIPAL_TYPES, role_assignment_name, role_definition_id
from components.control_plane.parts import ControlPlaneVault
from components.control_plane.secrets import VaultAccess
from components.model import Environment, vault_name
from components.model.secrets.certificates import administrators_secrets
from components.model.secrets.vault import vault_url


@dataclass(frozen=True, kw_only=True)
class EnvironmentVaultArgs:
    """Arguments of the vault."""

    environment: Environment
    resource_group: pulumi.Input[str]
    subnet_ids: Mapping[str, Output[str]]
    """Ids of subnets that may reach the vault, by part."""
    after: Sequence[pulumi.Resource] = ()
    """Resources that must be complete before the vault: Azure refuses the vault while any subnet of the network is
    being written."""


def admit_administrators(
    environment: Environment, vault_id: Output[str], written: Mapping[str, pulumi.Resource], opts: ResourceOptions
) -> None:
    """Let administrators of the cluster who do not run ``up`` read two secrets, once the secrets exist. ``written`` has
    the resource that writes each secret."""
    site = azure_site(environment, environment.control_plane.site)
    for principal, kind in environment.access.administrators.items():
        for secret in administrators_secrets():
            authorization.RoleAssignment(
                f"{environment.name}-administrator-{principal}-reads-{secret}",
                role_assignment_name=role_assignment_name(vault_name(environment), "administrator", principal, secret),
                scope=Output.concat(vault_id, "/secrets/", secret),
                principal_id=principal,
                principal_type=PRINCIPAL_TYPES[kind],
                role_definition_id=role_definition_id(site.subscription, SECRETS_USER),
                opts=ResourceOptions.merge(opts, ResourceOptions(depends_on=[written[secret]])),
            )


class EnvironmentVault(ControlPlaneVault):
    """A Key Vault that grants access by roles only, admits named networks only, and keeps deleted secrets for a
    week."""

    vault_id: Output[str]
    """Id of the vault."""

    def __init__(self, name: str, args: EnvironmentVaultArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:EnvironmentVault", name, None, opts)
        environment, site_name = args.environment, args.environment.control_plane.site
        site = azure_site(environment, site_name)
        vault = keyvault.Vault(
            name,
            vault_name=vault_name(environment),
            resource_group_name=args.resource_group,
            location=site.region,
            properties=keyvault.VaultPropertiesArgs(
                tenant_id=site.tenant,
                sku=keyvault.SkuArgs(family=keyvault.SkuFamily.A, name=keyvault.SkuName.STANDARD),
                enable_rbac_authorization=True,
                # Azure requires the list for every new vault, though only roles decide.
                access_policies=[],
                enable_soft_delete=True,
                soft_delete_retention_in_days=7,
                # Azure accepts no false here, and the protection can never be removed.
                enable_purge_protection=None if environment.destroyable else True,
                network_acls=keyvault.NetworkRuleSetArgs(
                    bypass="None",
                    default_action="Deny",
                    ip_rules=[keyvault.IPRuleArgs(value=str(range_)) for range_ in environment.access.operators],
                    virtual_network_rules=[
                        keyvault.VirtualNetworkRuleArgs(id=args.subnet_ids[part]) for part in sorted(args.subnet_ids)
                    ],
                ),
            ),
            tags=site_tags(environment, site_name),
            # A vault made before this list was part of the program has none in the state, and needs none.
            opts=ResourceOptions(
                parent=self, depends_on=list(args.after), ignore_changes=["properties.accessPolicies"]
            ),
        )
        officers = [
            authorization.RoleAssignment(
                f"{name}-officer-{principal}",
                role_assignment_name=role_assignment_name(vault_name(environment), "officer", principal),
                scope=vault.id,
                principal_id=principal,
                principal_type=PRINCIPAL_TYPES[kind],
                role_definition_id=role_definition_id(site.subscription, SECRETS_OFFICER),
                opts=ResourceOptions(parent=self),
            )
            for principal, kind in environment.access.vault_officers.items()
        ]
        self.vault, self.vault_id = vault, vault.id
        self.url = vault_url(environment)
        self.writable = VaultAccess(
            f"{name}-access", vault_url=self.url, opts=ResourceOptions(parent=self, depends_on=[vault, *officers])
        )
        self.register_outputs({"url": self.url})
