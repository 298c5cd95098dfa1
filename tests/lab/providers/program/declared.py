"""A program with one of everything that the lab's Azure has, declared with components."""

import base64

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import (
    authorization,
    compute,
    keyvault,
    managedidentity,
    network,
    privatedns,
    resources,
    storage,
)

from clouds.azure.roles import BLOB_CONTRIBUTOR
from components.azure.conditions import NO_DELETION, VERSION
from components.azure.retention import Retention, RetentionArgs

config = pulumi.Config()
zones = list(config.get("zones") or "123")
SUBSCRIPTION = "00000000-0000-4000-8000-000000000001"
ROLES = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions"
IMAGE = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/i/providers/Microsoft.Compute/galleries/g/images/node/versions/1.0.0"
)
ENDPOINTS = ("Microsoft.KeyVault", "Microsoft.Storage")
BALANCER = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab/providers/Microsoft.Network/loadBalancers/lb"

me = authorization.get_client_config_output()
group = resources.ResourceGroup("group", resource_group_name="lab", location="westeurope", tags={"a": "b"})
where = {"resource_group_name": group.name, "location": "westeurope"}
net = network.VirtualNetwork(
    "net",
    virtual_network_name="net",
    address_space=network.AddressSpaceArgs(address_prefixes=["10.0.0.0/16"]),
    opts=ResourceOptions(ignore_changes=["subnets"]),
    **where,
)
rules = network.NetworkSecurityGroup(
    "rules",
    network_security_group_name="rules",
    security_rules=[
        network.SecurityRuleArgs(
            name="api",
            priority=100,
            direction="Inbound",
            access="Allow",
            protocol="Tcp",
            source_address_prefix="*",
            source_port_range="*",
            destination_address_prefix="*",
            destination_port_ranges=[config.get("port") or "6443"],
        )
    ],
    **where,
)
address = network.PublicIPAddress(
    "address",
    public_ip_address_name="egress",
    public_ip_allocation_method="Static",
    sku=network.PublicIPAddressSkuArgs(name="Standard"),
    **where,
)
nat = network.NatGateway(
    "nat",
    nat_gateway_name="nat",
    public_ip_addresses=[network.SubResourceArgs(id=address.id)],
    sku=network.NatGatewaySkuArgs(name="Standard"),
    **where,
)
subnet = network.Subnet(
    "subnet",
    subnet_name="api",
    virtual_network_name=net.name,
    resource_group_name=group.name,
    address_prefix="10.0.0.0/24",
    network_security_group=network.NetworkSecurityGroupArgs(id=rules.id),
    nat_gateway=network.SubResourceArgs(id=nat.id),
    service_endpoints=[network.ServiceEndpointPropertiesFormatArgs(service=one) for one in ENDPOINTS],
)
balancer = network.LoadBalancer(
    "balancer",
    load_balancer_name="lb",
    sku=network.LoadBalancerSkuArgs(name="Standard"),
    frontend_ip_configurations=[
        network.FrontendIPConfigurationArgs(
            name="front",
            private_ip_address="10.0.0.100",
            private_ip_allocation_method="Static",
            zones=zones,
            subnet=network.SubnetArgs(id=subnet.id),
        )
    ],
    backend_address_pools=[network.BackendAddressPoolArgs(name="back")],
    probes=[
        network.ProbeArgs(name="ready", protocol="Https", port=6443, request_path="/readyz", interval_in_seconds=5)
    ],
    load_balancing_rules=[
        network.LoadBalancingRuleArgs(
            name="api",
            protocol="Tcp",
            frontend_port=6443,
            backend_port=6443,
            frontend_ip_configuration=network.SubResourceArgs(id=f"{BALANCER}/frontendIPConfigurations/front"),
            backend_address_pool=network.SubResourceArgs(id=f"{BALANCER}/backendAddressPools/back"),
            probe=network.SubResourceArgs(id=f"{BALANCER}/probes/ready"),
        )
    ],
    opts=ResourceOptions(ignore_changes=["frontendIPConfigurations[0].zones"])
    if config.get_bool("keep-zones")
    else None,
    **where,
)
identity = managedidentity.UserAssignedIdentity("identity", resource_name_="m0", **where)
vault = keyvault.Vault(
    "vault",
    vault_name="lh-lab-vault",
    properties=keyvault.VaultPropertiesArgs(
        tenant_id=me.tenant_id,
        sku=keyvault.SkuArgs(family="A", name="standard"),
        enable_rbac_authorization=True,
        access_policies=[],
        soft_delete_retention_in_days=7,
        network_acls=keyvault.NetworkRuleSetArgs(
            bypass="None",
            default_action="Deny",
            ip_rules=[keyvault.IPRuleArgs(value="127.0.0.0/8")],
            virtual_network_rules=[keyvault.VirtualNetworkRuleArgs(id=subnet.id)],
        ),
    ),
    **where,
)
authorization.RoleAssignment(
    "reader",
    role_assignment_name="11111111-1111-4111-8111-111111111111",
    scope=identity.id,
    principal_id=identity.principal_id,
    principal_type="ServicePrincipal",
    role_definition_id=f"{ROLES}/4633458b-17de-408a-b874-0445c86b69e6",
)
authorization.RoleAssignment(
    "officer",
    role_assignment_name="11111111-1111-4111-8111-111111111112",
    scope=vault.id,
    principal_id=me.object_id,
    principal_type="ServicePrincipal",
    role_definition_id=f"{ROLES}/b86a8fe4-44ce-4948-aee5-eccb2c155cd7",
)
zone = privatedns.PrivateZone(
    "zone", private_zone_name="lab.internal", resource_group_name=group.name, location="global"
)
privatedns.VirtualNetworkLink(
    "link",
    virtual_network_link_name="net",
    private_zone_name=zone.name,
    resource_group_name=group.name,
    location="global",
    registration_enabled=False,
    virtual_network=privatedns.SubResourceArgs(id=net.id),
)
privatedns.PrivateRecordSet(
    "record",
    private_zone_name=zone.name,
    resource_group_name=group.name,
    record_type="A",
    relative_record_set_name="m0",
    ttl=60,
    a_records=[privatedns.ARecordArgs(ipv4_address="10.0.0.10")],
)
interface = network.NetworkInterface(
    "interface",
    network_interface_name="m0",
    enable_accelerated_networking=True,
    ip_configurations=[
        network.NetworkInterfaceIPConfigurationArgs(
            name="primary",
            primary=True,
            private_ip_address="10.0.0.10",
            private_ip_allocation_method="Static",
            subnet=network.SubnetArgs(id=subnet.id),
            load_balancer_backend_address_pools=[
                network.BackendAddressPoolArgs(id=Output.concat(balancer.id, "/backendAddressPools/back"))
            ],
        )
    ],
    **where,
)
compute.VirtualMachine(
    "machine",
    vm_name="m0",
    zones=["1"],
    hardware_profile=compute.HardwareProfileArgs(vm_size="Standard_L8s_v3"),
    identity=compute.VirtualMachineIdentityArgs(type="UserAssigned", user_assigned_identities=[identity.id]),
    os_profile=compute.OSProfileArgs(
        computer_name="m0",
        admin_username="longhaul",
        custom_data=Output.secret(base64.b64encode((config.get("data") or "one").encode()).decode()),
        linux_configuration=compute.LinuxConfigurationArgs(disable_password_authentication=True),
    ),
    network_profile=compute.NetworkProfileArgs(
        network_interfaces=[
            compute.NetworkInterfaceReferenceArgs(id=interface.id, primary=True, delete_option="Detach")
        ]
    ),
    storage_profile=compute.StorageProfileArgs(
        image_reference=compute.ImageReferenceArgs(id=IMAGE),
        os_disk=compute.OSDiskArgs(name="m0", create_option="FromImage", delete_option="Delete"),
    ),
    security_profile=compute.SecurityProfileArgs(encryption_at_host=True),
    tags={"own": "one"},
    opts=ResourceOptions(
        ignore_changes=["identity"] if config.get_bool("ignore-identity") else None,
        replace_on_changes=["osProfile.customData"] if config.get_bool("replace") else None,
        delete_before_replace=config.get_bool("delete-first"),
    ),
    **where,
)
gateway_subnet = network.Subnet(
    "gateway-subnet",
    subnet_name="GatewaySubnet",
    virtual_network_name=net.name,
    resource_group_name=group.name,
    address_prefix="10.0.255.0/27",
    opts=ResourceOptions(depends_on=[subnet]),
)
gateway = network.VirtualNetworkGateway(
    "gateway",
    virtual_network_gateway_name="vpn",
    gateway_type="Vpn",
    vpn_type="RouteBased",
    vpn_gateway_generation="Generation2",
    sku=network.VirtualNetworkGatewaySkuArgs(name="VpnGw2AZ", tier="VpnGw2AZ"),
    active_active=True,
    enable_bgp=False,
    ip_configurations=[
        network.VirtualNetworkGatewayIPConfigurationArgs(
            name=f"instance-{index}",
            private_ip_allocation_method="Dynamic",
            public_ip_address=network.SubResourceArgs(
                id=network.PublicIPAddress(
                    f"vpn-{index}",
                    public_ip_address_name=f"vpn-{index}",
                    public_ip_allocation_method="Static",
                    sku=network.PublicIPAddressSkuArgs(name="Standard"),
                    zones=zones,
                    opts=ResourceOptions(ignore_changes=["zones"]) if config.get_bool("keep-zones") else None,
                    **where,
                ).id
            ),
            subnet=network.SubResourceArgs(id=gateway_subnet.id),
        )
        for index in range(2)
    ],
    **where,
)
remote = network.LocalNetworkGateway(
    "remote",
    local_network_gateway_name="rack",
    gateway_ip_address="198.51.100.20",
    local_network_address_space=network.AddressSpaceArgs(address_prefixes=["10.2.0.0/16"]),
    **where,
)
network.VirtualNetworkGatewayConnection(
    "connection",
    virtual_network_gateway_connection_name="rack",
    connection_type="IPsec",
    connection_protocol="IKEv2",
    connection_mode="Default",
    virtual_network_gateway1=network.VirtualNetworkGatewayArgs(id=gateway.id),
    local_network_gateway2=network.LocalNetworkGatewayArgs(id=remote.id),
    shared_key=Output.secret("correct_horse"),
    dpd_timeout_seconds=30,
    ipsec_policies=[
        network.IpsecPolicyArgs(
            ike_encryption="GCMAES256",
            ike_integrity="SHA384",
            dh_group="ECP384",
            ipsec_encryption="GCMAES256",
            ipsec_integrity="GCMAES256",
            pfs_group="ECP384",
            sa_life_time_seconds=3600,
            sa_data_size_kilobytes=102_400_000,
        )
    ],
    use_policy_based_traffic_selectors=True,
    traffic_selector_policies=[
        network.TrafficSelectorPolicyArgs(local_address_ranges=["10.0.0.0/16"], remote_address_ranges=["10.2.0.0/16"])
    ],
    **where,
)
second = network.VirtualNetwork(
    "second",
    virtual_network_name="second",
    address_space=network.AddressSpaceArgs(address_prefixes=["10.1.0.0/16"]),
    opts=ResourceOptions(ignore_changes=["subnets"]),
    **where,
)
before: pulumi.Resource = gateway_subnet
for near, far in ((net, second), (second, net)):
    before = network.VirtualNetworkPeering(
        f"peering-{far._name}",
        virtual_network_peering_name=far._name,
        resource_group_name=group.name,
        virtual_network_name=near.name,
        remote_virtual_network=network.SubResourceArgs(id=far.id),
        allow_virtual_network_access=True,
        allow_forwarded_traffic=False,
        opts=ResourceOptions(depends_on=[before]),
    )
if config.get_bool("routes"):
    network.RouteTable("routes", route_table_name="routes", **where)
pulumi.export("vault", vault.properties.vault_uri)
pulumi.export("front", balancer.frontend_ip_configurations[0].id)
pulumi.export("address", address.ip_address)

account = storage.StorageAccount(
    "account",
    account_name="lhlabsnapshots",
    kind="StorageV2",
    sku=storage.SkuArgs(name="Standard_ZRS"),
    allow_blob_public_access=False,
    allow_shared_key_access=False,
    enable_https_traffic_only=True,
    network_rule_set=storage.NetworkRuleSetArgs(
        bypass="None",
        default_action="Deny",
        ip_rules=[storage.IPRuleArgs(i_p_address_or_range="198.51.100.2")],
        virtual_network_rules=[storage.VirtualNetworkRuleArgs(virtual_network_resource_id=subnet.id)],
    ),
    **where,
)
container = storage.BlobContainer(
    "container", container_name="daily", account_name=account.name, resource_group_name=group.name
)
Retention("retention", RetentionArgs(container=container.id, days=90, environment="probe"))
age = storage.DateAfterModificationArgs(days_after_creation_greater_than=90)
storage.ManagementPolicy(
    "expiry",
    management_policy_name="default",
    account_name=account.name,
    resource_group_name=group.name,
    policy=storage.ManagementPolicySchemaArgs(
        rules=[
            storage.ManagementPolicyRuleArgs(
                name="daily",
                enabled=True,
                type="Lifecycle",
                definition=storage.ManagementPolicyDefinitionArgs(
                    actions=storage.ManagementPolicyActionArgs(
                        base_blob=storage.ManagementPolicyBaseBlobArgs(delete=age)
                    ),
                    filters=storage.ManagementPolicyFilterArgs(blob_types=["blockBlob"], prefix_match=["daily/"]),
                ),
            )
        ]
    ),
)
authorization.RoleAssignment(
    "makes-backups",
    role_assignment_name="00000000-0000-4000-8000-0000000000b2",
    scope=account.id,
    principal_id=identity.principal_id,
    principal_type="ServicePrincipal",
    role_definition_id=f"{ROLES}/{BLOB_CONTRIBUTOR}",
    condition=NO_DELETION,
    condition_version=VERSION,
)
