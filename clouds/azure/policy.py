"""Checks of Azure's resources against the rules of docs/policy.md. Each check names the azure-native types that it
applies to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from clouds.azure.groups import SCALE_SET
from clouds.azure.parts import egress_names, makes_vpn_gateway
from clouds.azure.site import AzureSite
from clouds.azure.tunnels import gateway_addresses
from clouds.base import policy_rules
from clouds.base.ingress_policy import Ingress, ingress_breaches
from clouds.base.inputs import at, is_true, is_unknown, sections, shown, texts, walk
from clouds.base.missing_tags import missing_tags
from clouds.base.place import Place
from clouds.base.policy import Breach, Check, Declared, PolicyChecks, Resource, unaccounted_address
from clouds.base.ranges import parse_range
from clouds.base.secret_checks import user_data_check
from contract.tag_keys import MACHINE, POOL, SITE

BALANCER: Final = "azure-native:network:LoadBalancer"
INTERFACE: Final = "azure-native:network:NetworkInterface"
RULE: Final = "azure-native:network:SecurityRule"
RULES_GROUP: Final = "azure-native:network:NetworkSecurityGroup"
STORAGE_ACCOUNT: Final = "azure-native:storage:StorageAccount"
VAULT: Final = "azure-native:keyvault:Vault"
VIRTUAL_MACHINE: Final = "azure-native:compute:VirtualMachine"

ADDRESS_KEYS = ("publicIPAddress", "publicIPAddressConfiguration", "publicIPPrefix")
"""Properties that give interfaces and frontends public addresses (azure-native SDK, network and compute)."""

OWN_TAGS = ("VirtualNetwork", "AzureLoadBalancer")
"""Service tags that contain only addresses of the network itself and of its probes (learn.microsoft.com, "Virtual
network service tags"). `AzureCloud` and similar tags contain other customers' machines too."""

WITHOUT_RULES = ("GatewaySubnet",)
"""Subnets that cannot have a security group (learn.microsoft.com, "About VPN Gateway configuration settings", Gateway
subnet)."""

MODERN_TLS = ("TLS1_2", "TLS1_3")

PRIVILEGED: Mapping[str, str] = {
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9": "User Access Administrator",
    "f58310d9-a9f6-439a-9e8d-f62e7b41a168": "Role Based Access Control Administrator",
}
"""Roles that grant every action, or the right to assign roles (learn.microsoft.com, "Azure built-in roles",
Privileged)."""

_WIDE_SCOPE = re.compile(r"^/?(|subscriptions/[^/]+|providers/Microsoft\.Management/managementGroups/[^/]+)/?$", re.I)
"""A tenant, a management group or a subscription. A longer scope is a resource group or less."""

_WIDE_ACTION = re.compile(r"^(\*(/.*)?|[^/*]+/\*)$")
"""Actions of all services, or all actions of one service: ``*``, ``*/read``, ``Microsoft.Compute/*``."""

USER_DATA: Mapping[str, tuple[str, ...]] = {
    VIRTUAL_MACHINE: ("osProfile.customData", "userData"),
    SCALE_SET: ("virtualMachineProfile.osProfile.customData", "virtualMachineProfile.userData"),
}
"""Properties that hold user data, by kind."""

MORE_TAGS: Mapping[str, tuple[str, ...]] = {SCALE_SET: (POOL,), VIRTUAL_MACHINE: (MACHINE,)}
"""Tags that resources of a kind must have in addition to the site tag, by kind."""

TAGGED = frozenset(
    {
        *MORE_TAGS,
        BALANCER,
        INTERFACE,
        RULES_GROUP,
        STORAGE_ACCOUNT,
        VAULT,
        "azure-native:compute:Disk",
        "azure-native:managedidentity:UserAssignedIdentity",
        "azure-native:network:LocalNetworkGateway",
        "azure-native:network:NatGateway",
        "azure-native:network:PublicIPAddress",
        "azure-native:network:VirtualNetwork",
        "azure-native:network:VirtualNetworkGateway",
        "azure-native:network:VirtualNetworkGatewayConnection",
        "azure-native:privatedns:PrivateZone",
        "azure-native:privatedns:VirtualNetworkLink",
        "azure-native:resources:ResourceGroup",
    }
)
"""Kinds that can have tags. A test compares this set with the SDK's types that have the property `tags`."""


def _addresses(resource: Resource, declared: Declared) -> Iterator[Breach]:
    if resource.kind == INTERFACE and resource.name in declared.public:
        return
    for place, key, value in walk(resource.inputs):
        if key in ADDRESS_KEYS and value is not None:
            yield Breach(what=f"{place} gives it a public address", write=f"no {key}")


def _ingress(resource: Resource, declared: Declared) -> Iterator[Breach]:
    if resource.kind == RULE:
        ingresses = list(_let_in("", resource.inputs))
    else:
        listed = sections(resource.inputs, "securityRules")
        ingresses = [
            ingress for place, rule in listed for ingress in _let_in(f"{place} ({rule.get('name', 'no name')})", rule)
        ]
    yield from ingress_breaches(resource, declared, ingresses, key="securityRules", internal=OWN_TAGS)


def _let_in(place: str, rule: Mapping[str, Any]) -> Iterator[Ingress]:
    if str(rule.get("direction")).lower() != "inbound" or str(rule.get("access")).lower() != "allow":
        return
    yield Ingress(
        place=place,
        sources=(*texts(rule, "sourceAddressPrefix"), *texts(rule, "sourceAddressPrefixes")),
        protocol=str(rule.get("protocol")),
        ports=frozenset((*texts(rule, "destinationPortRange"), *texts(rule, "destinationPortRanges"))),
    )


def _subnet(resource: Resource, _: Declared) -> Iterator[Breach]:
    if at(resource.inputs, "networkSecurityGroup") is None and resource.inputs.get("subnetName") not in WITHOUT_RULES:
        yield Breach(
            what="no networkSecurityGroup: Azure's own rules let in every network that is peered or linked",
            write="networkSecurityGroup with the subnet's own rules",
        )


def _network(resource: Resource, declared: Declared) -> Iterator[Breach]:
    vault = resource.kind == VAULT
    root = "properties." if vault else ""
    acls = f"{root}networkAcls" if vault else "networkRuleSet"
    if at(resource.inputs, f"{root}publicNetworkAccess") == "Disabled":
        return
    action = at(resource.inputs, f"{acls}.defaultAction")
    if action != "Deny":
        yield Breach(what=f"{acls}.defaultAction is {shown(action)}: the whole internet reaches it", write="Deny")
    bypass = at(resource.inputs, f"{acls}.bypass")
    # The account's own lifecycle rules run as an Azure service, without which nothing deletes old blobs.
    if bypass != "None" and (vault or bypass != "AzureServices"):
        yield Breach(what=f"{acls}.bypass is {shown(bypass)}: services of other tenants bypass the rules", write="None")
    for place, rule in sections(resource.inputs, f"{acls}.ipRules"):
        source = rule.get("value" if vault else "iPAddressOrRange")
        network = parse_range(str(source))
        if network is None or not declared.admits_operator(network):
            yield Breach(
                what=f"{place} admits {shown(source)}, which is not an operator's",
                write="a range that access.operators declares",
            )


def _anonymous(resource: Resource, _: Declared) -> Iterator[Breach]:
    value = resource.inputs.get("allowBlobPublicAccess")
    if value is not False:
        yield Breach(what=f"allowBlobPublicAccess is {shown(value)}", write="allowBlobPublicAccess: false")


def _recoverable(resource: Resource, declared: Declared) -> Iterator[Breach]:
    kept = at(resource.inputs, "properties.enableSoftDelete")
    if not is_true(kept):
        yield Breach(what=f"properties.enableSoftDelete is {shown(kept)}", write="enableSoftDelete: true")
    protected = at(resource.inputs, "properties.enablePurgeProtection")
    if not is_true(protected) and not declared.destroyable:
        yield Breach(
            what=f"properties.enablePurgeProtection is {shown(protected)}: a purge could destroy every secret at once",
            write="enablePurgeProtection: true, or `destroyable: true` for an environment that is to be destroyed",
        )


def _host(resource: Resource, _: Declared) -> Iterator[Breach]:
    root = "virtualMachineProfile." if resource.kind == SCALE_SET else ""
    place = f"{root}securityProfile.encryptionAtHost"
    value = at(resource.inputs, place)
    if not is_true(value):
        yield Breach(what=f"{place} is {shown(value)}", write="encryptionAtHost: true")


def _tls(resource: Resource, _: Declared) -> Iterator[Breach]:
    oldest = resource.inputs.get("minimumTlsVersion")
    if oldest not in MODERN_TLS:
        yield Breach(what=f"minimumTlsVersion is {shown(oldest)}", write="minimumTlsVersion: TLS1_2")
    # The default is true (azure-native SDK, StorageAccountArgs.enable_https_traffic_only).
    if resource.inputs.get("enableHttpsTrafficOnly", True) is not True:
        yield Breach(what="enableHttpsTrafficOnly is false", write="enableHttpsTrafficOnly: true")


def _vault_roles(resource: Resource, _: Declared) -> Iterator[Breach]:
    roles = at(resource.inputs, "properties.enableRbacAuthorization")
    if not is_true(roles):
        yield Breach(
            what=f"properties.enableRbacAuthorization is {shown(roles)}", write="enableRbacAuthorization: true"
        )


def _password(resource: Resource, _: Declared) -> Iterator[Breach]:
    root = "virtualMachineProfile.osProfile" if resource.kind == SCALE_SET else "osProfile"
    place = f"{root}.linuxConfiguration.disablePasswordAuthentication"
    if not is_true(at(resource.inputs, place)):
        yield Breach(
            what=f"{place} is {shown(at(resource.inputs, place))}", write="disablePasswordAuthentication: true"
        )
    if at(resource.inputs, f"{root}.adminPassword") is not None:
        yield Breach(what=f"{root}.adminPassword is set", write="no password: an SSH key")


def _privileged(resource: Resource, _: Declared) -> Iterator[Breach]:
    role = str(resource.inputs.get("roleDefinitionId")).rpartition("/")[2].lower()
    if role in PRIVILEGED:
        yield Breach(
            what=f"assigns {PRIVILEGED[role]}", write="a role of what the identity does, on what it does it to"
        )


def _scope(resource: Resource, _: Declared) -> Iterator[Breach]:
    scope = resource.inputs.get("scope")
    if scope is None or (not is_unknown(scope) and _WIDE_SCOPE.match(str(scope))):
        yield Breach(what=f"scope is {shown(scope)}", write="the resource group, or the resource in it")


def _definition(resource: Resource, _: Declared) -> Iterator[Breach]:
    for place, permission in sections(resource.inputs, "permissions"):
        for key in ("actions", "dataActions"):
            for action in texts(permission, key):
                if _WIDE_ACTION.match(action):
                    yield Breach(
                        what=f"{place}.{key}: {action}", write="the operations that are called, by their names"
                    )


def _tags(resource: Resource, declared: Declared) -> Iterator[Breach]:
    wanted = (SITE, *MORE_TAGS.get(resource.kind, ()))
    yield from missing_tags("tags", resource.inputs.get("tags"), wanted, declared)


_ADDRESSES = frozenset({"azure-native:network:PublicIPAddress", "azure-native:network:PublicIPPrefix"})
_MACHINES = frozenset({VIRTUAL_MACHINE, SCALE_SET})
_ASSIGNMENT = frozenset({"azure-native:authorization:RoleAssignment"})


class AzurePolicyChecks(PolicyChecks[AzureSite]):
    """Checks of resources in Azure."""

    def public(self, place: Place[AzureSite]) -> frozenset[str]:
        """Return the names of the site's public addresses and of the resources through which laptops connect.
        `network.py`, `vpn.py`, `machines.py` and `laptops.py` in `components/azure` give these names."""
        gateway = place.has_tunnels and makes_vpn_gateway(place.site)
        numbers = range(gateway_addresses(place.site)) if gateway else ()
        links = {f"{place.environment}-links-{place.name}-address-{number}" for number in numbers}
        return frozenset({*egress_names(place), *links, *_laptops(place)})

    def checks(self) -> tuple[Check, ...]:
        """Return every check of Azure's resources."""
        return (
            Check(rule=policy_rules.PUBLIC_ADDRESS, kinds=_ADDRESSES, look=unaccounted_address),
            Check(rule=policy_rules.PUBLIC_INTERFACE, kinds=_MACHINES | {INTERFACE}, look=_addresses),
            Check(rule=policy_rules.PUBLIC_LOAD_BALANCER, kinds=frozenset({BALANCER}), look=_addresses),
            Check(rule=policy_rules.INGRESS, kinds=frozenset({RULES_GROUP, RULE}), look=_ingress),
            Check(
                rule=policy_rules.SUBNET_WITHOUT_RULES, kinds=frozenset({"azure-native:network:Subnet"}), look=_subnet
            ),
            Check(rule=policy_rules.STORE_NETWORK, kinds=frozenset({VAULT, STORAGE_ACCOUNT}), look=_network),
            Check(rule=policy_rules.STORE_ANONYMOUS, kinds=frozenset({STORAGE_ACCOUNT}), look=_anonymous),
            Check(rule=policy_rules.VAULT_RECOVERABLE, kinds=frozenset({VAULT}), look=_recoverable),
            Check(rule=policy_rules.ENCRYPTION_AT_HOST, kinds=_MACHINES, look=_host),
            Check(rule=policy_rules.TLS, kinds=frozenset({STORAGE_ACCOUNT}), look=_tls),
            Check(rule=policy_rules.VAULT_ROLES, kinds=frozenset({VAULT}), look=_vault_roles),
            Check(rule=policy_rules.PASSWORD_LOGIN, kinds=_MACHINES, look=_password),
            Check(rule=policy_rules.AZURE_PRIVILEGED_ROLE, kinds=_ASSIGNMENT, look=_privileged),
            Check(rule=policy_rules.AZURE_SCOPE, kinds=_ASSIGNMENT, look=_scope),
            Check(
                rule=policy_rules.AZURE_ACTIONS,
                kinds=frozenset({"azure-native:authorization:RoleDefinition"}),
                look=_definition,
            ),
            user_data_check(USER_DATA),
            Check(rule=policy_rules.TAGS, kinds=TAGGED, look=_tags),
        )


def _laptops(place: Place[AzureSite]) -> Iterator[str]:
    """Yield the names of the resources through which laptops connect, as `components/azure/machines.py` and
    `network.py` name them."""
    for number in range(place.vpn_machines):
        yield f"{place.environment}-vpn-{number}-public"
        yield f"{place.environment}-vpn-{number}-interface"
    if place.vpn_machines:
        yield f"{place.environment}-{place.name}-vpn-rules"
