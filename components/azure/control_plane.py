"""Parts of a control plane on Azure."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi import Output, ResourceOptions

from clouds.azure.existing_networks import BACKUP_SUBNETS
from clouds.azure.parts import control_subnets
from components.azure.account import azure_site
from components.azure.backups import BackupStorage, BackupStorageArgs
from components.azure.data_disk import data_disk
from components.azure.laptops import public_address
from components.azure.load_balancer import ApiLoadBalancer, ApiLoadBalancerArgs
from components.azure.machines import ControlMachine, ControlMachineArgs
from components.azure.network import SiteNetwork
from components.azure.vault import EnvironmentVault, EnvironmentVaultArgs, admit_administrators
from components.control_plane.parts import ControlPlaneVault, MachineArgs
from components.model import AddressPlan, Environment, Machine, Role
from components.model.backups.section import Backups
from components.model.sites.places import name_prefix, place_of


class AzureControlPlaneParts:
    """Maker of a control plane's parts in the network of a site on Azure."""

    def __init__(self, environment: Environment, addresses: AddressPlan, network: SiteNetwork) -> None:
        if network.zone_name is None:
            raise TypeError("the control plane needs a network with a private zone")
        self._environment, self._addresses, self._network, self._zone = (
            environment,
            addresses,
            network,
            network.zone_name,
        )
        self._vault: EnvironmentVault | None = None
        self._backend_pool_id: Output[str] | None = None
        self._disk_ids: dict[str, Output[str]] = {}
        self._public_address_ids: dict[str, Output[str]] = {}

    @property
    def location(self) -> Mapping[str, pulumi.Input[str]]:
        """Return the subscription, the resource group, and the prefix of names if there is one."""
        prefix = name_prefix(self._environment)
        return {
            "subscription": azure_site(self._environment, self._environment.control_plane.site).subscription,
            "resource_group": self._network.resource_group,
            **({"prefix": prefix} if prefix else {}),
        }

    def make_vault(self, name: str, opts: ResourceOptions) -> EnvironmentVault:
        """Make a Key Vault that the machines' subnets may reach."""
        place = place_of(self._environment, self._environment.control_plane.site)
        self._vault = EnvironmentVault(
            name,
            EnvironmentVaultArgs(
                environment=self._environment,
                resource_group=self._network.resource_group,
                subnet_ids={part: self._network.subnet_ids[part] for part in control_subnets(place)},
                after=[self._network],
            ),
            opts=opts,
        )
        return self._vault

    def _vault_id(self) -> Output[str]:
        if self._vault is None:
            raise TypeError("the vault is made first")
        return self._vault.vault_id

    def admit_administrators(self, written: Mapping[str, pulumi.Resource], opts: ResourceOptions) -> None:
        """Let administrators read two secrets."""
        admit_administrators(self._environment, self._vault_id(), written, opts)

    def make_backups(
        self, name: str, backups: Backups, vault: ControlPlaneVault, opts: ResourceOptions
    ) -> BackupStorage:
        """Make a storage account that the members' subnets may reach."""
        return BackupStorage(
            name,
            BackupStorageArgs(
                environment=self._environment,
                backups=backups,
                resource_group=self._network.resource_group,
                subnet_ids={part: self._network.subnet_ids[part] for part in BACKUP_SUBNETS},
                vault_url=vault.url,
                vault_writable=vault.writable,
                after=[self._network],
            ),
            opts=opts,
        )

    def make_balancer(self, name: str, opts: ResourceOptions) -> None:
        """Make an internal load balancer."""
        balancer = ApiLoadBalancer(
            name,
            ApiLoadBalancerArgs(
                environment=self._environment,
                addresses=self._addresses,
                resource_group=self._network.resource_group,
                subnet_id=self._network.subnet_ids["api"],
                zone_name=self._zone,
                zone_group=self._network.zone_group,
            ),
            opts=opts,
        )
        self._backend_pool_id = balancer.backend_pool_id

    def make_disk(self, machine: Machine, opts: ResourceOptions) -> None:
        """Make a Premium SSD v2."""
        group = self._network.resource_group
        self._disk_ids[machine.name] = data_disk(self._environment, machine, group=group, opts=opts)

    def make_public_address(self, machine: Machine, opts: ResourceOptions) -> Output[str]:
        """Make a public address in every zone."""
        address = public_address(self._environment, machine, group=self._network.resource_group, opts=opts)
        self._public_address_ids[machine.name] = address.id
        return address.ip_address.apply(lambda known: known or "")

    def make_machine(self, args: MachineArgs, opts: ResourceOptions) -> ControlMachine:
        """Make a virtual machine in its role's subnet."""
        machine = args.machine
        return ControlMachine(
            machine.name,
            ControlMachineArgs(
                environment=self._environment,
                addresses=self._addresses,
                machine=machine,
                resource_group=self._network.resource_group,
                subnet_id=self._network.subnet_ids[machine.role],
                vault_id=self._vault_id(),
                zone_name=self._zone,
                zone_group=self._network.zone_group,
                security_group_id=self._network.interface_rules.get(machine.role),
                backend_pool_id=self._backend_pool_id if machine.role is Role.API else None,
                public_address_id=self._public_address_ids.get(machine.name),
                secrets=args.secrets,
                later=args.later,
                disk_id=self._disk_ids.get(machine.name),
                after=args.after,
                hooks=args.hooks,
            ),
            opts=opts,
        )
