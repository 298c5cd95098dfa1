"""Object storage for backups of the etcd clusters: a storage account that only members and officers reach. Nobody can
change or delete a backup before its retention ends, and the account deletes older backups itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import authorization, storage

from clouds.azure.roles import BLOB_CONTRIBUTOR, BLOB_READER
from clouds.base.tags import site_tags
from components.azure import conditions
from components.azure.account import azure_site
from components.azure.retention import Retention, RetentionArgs
from components.azure.role_assignments import PRINCIPAL_TYPES, role_assignment_name, role_definition_id
from components.control_plane.parts import ControlPlaneBackups
from components.control_plane.secrets import VaultSetting
from components.model import Environment, Machine
from components.model.backups.section import Backups
from components.model.backups.storage import account_name, settings
from contract.documents.backup_settings import SECRET
from contract.documents.backups import BackupClass


@dataclass(frozen=True, kw_only=True)
class BackupStorageArgs:
    """Arguments of the storage."""

    environment: Environment
    backups: Backups
    resource_group: pulumi.Input[str]
    subnet_ids: Mapping[str, Output[str]]
    """Ids of the members' subnets, by part."""
    vault_url: str
    vault_writable: pulumi.Resource
    after: Sequence[pulumi.Resource] = ()
    """Resources that the account waits for: Azure refuses the account while any subnet of the network is being
    written."""


class BackupStorage(ControlPlaneBackups):
    """The account, a container for each class of backups, and the setting in the vault by which members find them."""

    account_id: Output[str]

    def __init__(self, name: str, args: BackupStorageArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:BackupStorage", name, None, opts)
        self._name, self._args = name, args
        self._site = azure_site(args.environment, args.environment.control_plane.site)
        self._child = ResourceOptions(parent=self)
        account = self._account()
        self._account_name, self.account_id = account.name, account.id
        self._retentions = [self._container(kept) for kept in BackupClass]
        self._expiry()
        for principal, kind in args.environment.access.vault_officers.items():
            self._grant(f"officer-{principal}", principal, type=PRINCIPAL_TYPES[kind], role=BLOB_READER)
        self.setting = VaultSetting(
            f"{name}-setting",
            secret=SECRET,
            value=settings(args.environment, args.backups).to_text(),
            vault_url=args.vault_url,
            opts=ResourceOptions(parent=self, depends_on=[args.vault_writable]),
        )
        self.register_outputs({"account_id": self.account_id})

    def admit(self, member: Machine, principal_id: pulumi.Input[str]) -> None:
        """Let a member read the backups of its etcd cluster and make new ones under its own name. The member cannot
        delete backups, and the containers' retention keeps it from changing them."""
        condition = conditions.own_backups(member)
        self._grant(member.name, principal_id, type="ServicePrincipal", role=BLOB_CONTRIBUTOR, condition=condition)

    def _account(self) -> storage.StorageAccount:
        args = self._args
        rules = storage.NetworkRuleSetArgs(
            # Otherwise the firewall blocks the rules that delete old backups (learn.microsoft.com, "Azure Blob Storage
            # lifecycle management overview", on firewalls).
            bypass="AzureServices",
            default_action=storage.DefaultAction.DENY,
            ip_rules=[storage.IPRuleArgs(i_p_address_or_range=range_) for range_ in _public(args.environment)],
            virtual_network_rules=[
                storage.VirtualNetworkRuleArgs(virtual_network_resource_id=args.subnet_ids[part])
                for part in sorted(args.subnet_ids)
            ],
        )
        return storage.StorageAccount(
            self._name,
            account_name=account_name(args.environment),
            resource_group_name=args.resource_group,
            location=self._site.region,
            kind=storage.Kind.STORAGE_V2,
            # The backups survive the loss of a zone, wherever the members are.
            sku=storage.SkuArgs(name="Standard_ZRS" if self._site.zones else "Standard_LRS"),
            allow_blob_public_access=False,
            allow_shared_key_access=False,
            enable_https_traffic_only=True,
            minimum_tls_version="TLS1_2",
            network_rule_set=rules,
            tags=site_tags(args.environment, args.environment.control_plane.site),
            opts=ResourceOptions(parent=self, depends_on=list(args.after)),
        )

    def _container(self, kept: BackupClass) -> Retention:
        """Make the container of a class; return its retention."""
        container = storage.BlobContainer(
            f"{self._name}-{kept}",
            container_name=str(kept),
            account_name=self._account_name,
            resource_group_name=self._args.resource_group,
            opts=self._child,
        )
        return Retention(
            f"{self._name}-{kept}-retention",
            RetentionArgs(
                container=container.id, days=self._args.backups.days(kept), environment=self._args.environment.name
            ),
            opts=ResourceOptions(parent=self, depends_on=[container]),
        )

    def _expiry(self) -> None:
        """Delete old backups. It is uncertain whether a rule deletes a blob whose retention has ended
        (docs/first-real-up.md); ``longhaul status`` reports blobs that should have been deleted."""
        storage.ManagementPolicy(
            f"{self._name}-expiry",
            management_policy_name="default",
            account_name=self._account_name,
            resource_group_name=self._args.resource_group,
            policy=storage.ManagementPolicySchemaArgs(rules=[self._rule(kept) for kept in BackupClass]),
            opts=self._child,
        )

    def _rule(self, kept: BackupClass) -> storage.ManagementPolicyRuleArgs:
        age = storage.DateAfterModificationArgs(days_after_creation_greater_than=self._args.backups.days(kept))
        return storage.ManagementPolicyRuleArgs(
            name=str(kept),
            enabled=True,
            type="Lifecycle",
            definition=storage.ManagementPolicyDefinitionArgs(
                actions=storage.ManagementPolicyActionArgs(base_blob=storage.ManagementPolicyBaseBlobArgs(delete=age)),
                filters=storage.ManagementPolicyFilterArgs(blob_types=["blockBlob"], prefix_match=[f"{kept}/"]),
            ),
        )

    def _grant(
        self, holder: str, principal_id: pulumi.Input[str], *, type: str, role: str, condition: str | None = None
    ) -> None:
        authorization.RoleAssignment(
            f"{self._name}-{holder}",
            role_assignment_name=role_assignment_name(account_name(self._args.environment), holder),
            scope=self.account_id,
            principal_id=principal_id,
            principal_type=type,
            role_definition_id=role_definition_id(self._site.subscription, role),
            condition=condition,
            condition_version=conditions.VERSION if condition else None,
            # Nobody stores a backup that nothing protects.
            opts=ResourceOptions(parent=self, depends_on=self._retentions),
        )


def _public(environment: Environment) -> list[str]:
    """Return operators' ranges as Azure Storage accepts them: it refuses ranges of one or two addresses and wants
    single addresses instead (learn.microsoft.com, "Azure Storage firewall rules")."""
    return [
        text
        for range_ in environment.access.operators
        for text in ([str(range_)] if range_.prefixlen < 31 else [str(address) for address in range_])
    ]
