"""One control-plane machine on Azure: its identity and permissions, its address, the machine."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import authorization, compute, managedidentity, network, privatedns

from clouds.azure.images import SECURITY_TYPE
from clouds.azure.roles import SECRETS_USER
from clouds.base.tags import site_tags
from components import render
from components.azure.account import ADMINISTRATOR, IDENTITY, azure_site
from components.azure.role_assignments import role_assignment_name, role_definition_id
from components.control_plane.parts import ControlPlaneMachine, MachineArgs
from components.model import AddressPlan, Environment, Role, vault_name
from components.model.sites.cloud_names import cloud_name
from components.render.etcd import LUN
from contract.tag_keys import MACHINE

REPLACED_BY = [
    "osProfile.customData",
    "osProfile.linuxConfiguration",
    "osProfile.adminUsername",
    "storageProfile.imageReference",
    "zones",
    "hardwareProfile.vmSize",
]
"""Properties whose change makes a new machine. Azure refuses to change all but the last in place. A change of the last
would move the machine, and an etcd member would lose its local disk without notice."""


@dataclass(frozen=True, kw_only=True)
class ControlMachineArgs(MachineArgs):
    """Arguments of a control-plane machine on Azure."""

    environment: Environment
    addresses: AddressPlan
    resource_group: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    vault_id: pulumi.Input[str]
    zone_name: pulumi.Input[str]
    zone_group: pulumi.Input[str]
    """Resource group of the private zone."""
    security_group_id: pulumi.Input[str] | None = None
    """Security group of the machine's interface if the subnet existed already, because such a subnet keeps its own
    rules; else None."""
    backend_pool_id: pulumi.Input[str] | None = None
    """Backend pool of the load balancer, for API servers."""
    public_address_id: pulumi.Input[str] | None = None
    """Id of the public address, for VPN machines."""
    disk_id: pulumi.Input[str] | None = None
    """Id of the network disk that holds the machine's data; None when a local SSD does."""


class ControlMachine(ControlPlaneMachine):
    """A virtual machine of the control plane."""

    def __init__(self, name: str, args: ControlMachineArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:ControlMachine", name, None, opts)
        site = azure_site(args.environment, args.machine.site)
        self._name, self._args, self._site = name, args, site
        self._cloud_name = cloud_name(args.environment, name)
        self._child = ResourceOptions(parent=self)
        self._tags = {**site_tags(args.environment, args.machine.site), MACHINE: str(args.machine.role)}
        identity = self._identity()
        self.principal_id = identity.principal_id
        identities = [identity]
        if args.machine.role is Role.API:
            # The autoscaler has an identity of its own: the node controller's tokens must not size pools, and the
            # autoscaler's must not open the vault.
            identities.append(self._identity("autoscaler"))
            self.scaling_id = identities[-1].principal_id
        grants = self._grants(identity)
        interface = self._interface()
        self._record()
        self.later_grants = [grant for secret, grant in grants.items() if secret in args.later]
        first = [grant for secret, grant in grants.items() if secret not in args.later]
        machine = self._machine(identities, interface, depends_on=[*first, *args.after])
        self.machine_id = machine.vm_id
        self.register_outputs({"machine_id": self.machine_id})

    def _identity(self, part: str = "") -> managedidentity.UserAssignedIdentity:
        """Make the identity of the machine, or of one of its programs (machine/managed_identity.py in images/rootfs
        derives the names)."""
        end = f"-{part}" if part else ""
        return managedidentity.UserAssignedIdentity(
            f"{self._name}{end}-identity",
            resource_name_=f"{self._cloud_name}{end}",
            resource_group_name=self._args.resource_group,
            location=self._site.region,
            tags=self._tags,
            opts=self._child,
        )

    def _grants(self, identity: managedidentity.UserAssignedIdentity) -> dict[str, pulumi.Resource]:
        """Grant the machine the right to read each of its own secrets, once the secret exists: no document says that
        Azure accepts a scope that does not exist yet. Return the grants by the secrets' names."""
        environment, machine = self._args.environment, self._args.machine
        return {
            secret: authorization.RoleAssignment(
                f"{self._name}-reads-{secret}",
                role_assignment_name=role_assignment_name(vault_name(environment), machine.name, secret),
                scope=Output.concat(self._args.vault_id, "/secrets/", secret),
                principal_id=identity.principal_id,
                principal_type="ServicePrincipal",
                role_definition_id=role_definition_id(self._site.subscription, SECRETS_USER),
                opts=ResourceOptions(parent=self, depends_on=[self._args.secrets[secret]]),
            )
            for secret in render.vault_secrets(environment, self._args.addresses, machine)
        }

    def _interface(self) -> network.NetworkInterface:
        pool, rules = self._args.backend_pool_id, self._args.security_group_id
        public = self._args.public_address_id
        return network.NetworkInterface(
            f"{self._name}-interface",
            network_interface_name=self._cloud_name,
            resource_group_name=self._args.resource_group,
            location=self._site.region,
            enable_accelerated_networking=True,
            network_security_group=network.NetworkSecurityGroupArgs(id=rules) if rules else None,
            ip_configurations=[
                network.NetworkInterfaceIPConfigurationArgs(
                    name="primary",
                    primary=True,
                    private_ip_address=str(self._args.machine.address),
                    private_ip_allocation_method="Static",
                    subnet=network.SubnetArgs(id=self._args.subnet_id),
                    public_ip_address=network.PublicIPAddressArgs(id=public) if public else None,
                    load_balancer_backend_address_pools=[network.BackendAddressPoolArgs(id=pool)] if pool else None,
                )
            ],
            tags=self._tags,
            opts=self._child,
        )

    def _record(self) -> None:
        privatedns.PrivateRecordSet(
            f"{self._name}-address",
            private_zone_name=self._args.zone_name,
            resource_group_name=self._args.zone_group,
            record_type="A",
            relative_record_set_name=self._name,
            ttl=60,
            a_records=[privatedns.ARecordArgs(ipv4_address=str(self._args.machine.address))],
            opts=self._child,
        )

    def _machine(
        self,
        identities: Sequence[managedidentity.UserAssignedIdentity],
        interface: network.NetworkInterface,
        *,
        depends_on: list[pulumi.Resource],
    ) -> compute.VirtualMachine:
        args = self._args
        user_data = render.user_data(args.environment, args.addresses, args.machine)
        return compute.VirtualMachine(
            self._name,
            vm_name=self._cloud_name,
            resource_group_name=args.resource_group,
            location=self._site.region,
            zones=[args.machine.zone],
            hardware_profile=compute.HardwareProfileArgs(vm_size=args.machine.machine_type),
            identity=compute.VirtualMachineIdentityArgs(
                type=compute.ResourceIdentityType.USER_ASSIGNED,
                user_assigned_identities=[identity.id for identity in identities],
            ),
            os_profile=compute.OSProfileArgs(
                computer_name=self._name,
                custom_data=base64.b64encode(user_data.encode()).decode(),
                admin_username=ADMINISTRATOR,
                linux_configuration=_linux(args.environment.access.administrator_key),
            ),
            network_profile=compute.NetworkProfileArgs(
                network_interfaces=[
                    compute.NetworkInterfaceReferenceArgs(id=interface.id, primary=True, delete_option="Detach")
                ]
            ),
            storage_profile=compute.StorageProfileArgs(
                image_reference=compute.ImageReferenceArgs(id=self._site.image),
                os_disk=compute.OSDiskArgs(
                    # Azure names the disk, with a new name for each machine: the disk of a machine that failed does not
                    # block the next.
                    create_option="FromImage",
                    delete_option="Delete",
                    caching=compute.CachingTypes.READ_ONLY,
                    managed_disk=compute.ManagedDiskParametersArgs(storage_account_type="Premium_LRS"),
                ),
                data_disks=_data_disks(args.disk_id),
            ),
            security_profile=compute.SecurityProfileArgs(encryption_at_host=True, security_type=SECURITY_TYPE),
            tags=self._tags,
            opts=ResourceOptions(
                parent=self,
                depends_on=depends_on,
                delete_before_replace=True,
                replace_on_changes=REPLACED_BY,
                # A machine made before Azure named the disks keeps its disk's name, and an older one its security type,
                # which is Standard anyway.
                ignore_changes=[*IDENTITY, "storageProfile.osDisk.name", "securityProfile.securityType"],
                hooks=args.hooks,
            ),
        )


def _data_disks(disk_id: pulumi.Input[str] | None) -> list[compute.DataDiskArgs] | None:
    """Return the attachment of the network disk, which stays when the machine is deleted. A Premium SSD v2 has no host
    cache."""
    if disk_id is None:
        return None
    return [
        compute.DataDiskArgs(
            lun=LUN,
            create_option=compute.DiskCreateOptionTypes.ATTACH,
            delete_option=compute.DiskDeleteOptionTypes.DETACH,
            caching=compute.CachingTypes.NONE,
            managed_disk=compute.ManagedDiskParametersArgs(id=disk_id),
        )
    ]


def _linux(public_key: str) -> compute.LinuxConfigurationArgs:
    return compute.LinuxConfigurationArgs(
        disable_password_authentication=True,
        provision_vm_agent=True,
        ssh=compute.SshConfigurationArgs(
            public_keys=[
                compute.SshPublicKeyArgs(key_data=public_key, path=f"/home/{ADMINISTRATOR}/.ssh/authorized_keys")
            ]
        ),
    )
