"""Limits that Azure gives in prose: in the specifications from which the SDK's documentation is made, and about names.

The published models have almost no machine-readable limit for what the program declares; docs/design.md says what was
examined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.contracts import sdk_types
from tests.contracts.faults import Fault
from tests.contracts.limits import Limit, between
from tests.support.declared import Declared

NAMING = "Naming rules and restrictions for Azure resources, learn.microsoft.com"
_PART = r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9_])?"
_LABEL = "[A-Za-z0-9_-]{1,63}"
_GUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CUSTOM_DATA = Limit(words="The maximum length of the binary array is 65535 bytes.", decoded=65_535)

AZURE_LIMITS: Mapping[tuple[str, str], Limit] = {
    ("SecurityRuleArgs", "priority"): between(100, 4096, "The value can be between 100 and 4096."),
    ("ProbeArgs", "intervalInSeconds"): between(5, None, "The default value is 15, the minimum value is 5."),
    ("ProbeArgs", "port"): between(1, 65_535, "Possible values range from 1 to 65535, inclusive."),
    ("LoadBalancingRuleArgs", "frontendPort"): between(0, 65_534, "Acceptable values are between 0 and 65534."),
    ("LoadBalancingRuleArgs", "backendPort"): between(0, 65_535, "Acceptable values are between 0 and 65535."),
    ("LoadBalancingRuleArgs", "idleTimeoutInMinutes"): between(4, 30, "The value can be set between 4 and 30 minutes."),
    ("VaultPropertiesArgs", "softDeleteRetentionInDays"): between(7, 90, "It accepts >=7 and <=90."),
    ("OSProfileArgs", "computerName"): Limit(words="**Max-length (Linux):** 64 characters.", longest=64),
    ("OSProfileArgs", "customData"): _CUSTOM_DATA,
    ("VirtualMachineScaleSetOSProfileArgs", "customData"): _CUSTOM_DATA,
    # The words are about Windows. For Linux, Terraform's azurerm has the limit (``validate.LinuxComputerNamePrefix``):
    # Azure needs six of a host name's 64 characters.
    ("VirtualMachineScaleSetOSProfileArgs", "computerNamePrefix"): Limit(
        words="Computer name prefixes must be 1 to 15 characters long.", longest=58, pattern=r"[A-Za-z0-9][A-Za-z0-9-]*"
    ),
    ("RoleAssignmentArgs", "roleAssignmentName"): Limit(words="It can be any valid GUID.", pattern=_GUID),
}
"""Limits by class and property of the SDK."""


@dataclass(frozen=True, kw_only=True)
class Name:
    """Rules for a resource's name (:data:`NAMING`)."""

    input: str
    shortest: int = 1
    longest: int
    pattern: str = _PART

    def limit(self) -> Limit:
        """Return these rules as a limit."""
        words = f"{self.shortest} to {self.longest} characters that match {self.pattern}"
        return Limit(words=words, longest=self.longest, pattern=f"(?=.{{{self.shortest},}})(?:{self.pattern})")


NAMES: Mapping[str, Name] = {
    "compute:Disk": Name(input="diskName", longest=80, pattern="[A-Za-z0-9_-]+"),
    "compute:VirtualMachine": Name(input="vmName", longest=64, pattern="[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"),
    "compute:VirtualMachineScaleSet": Name(
        input="vmScaleSetName", longest=64, pattern="[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
    ),
    "keyvault:Vault": Name(
        input="vaultName", shortest=3, longest=24, pattern="(?!.*--)[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])"
    ),
    "managedidentity:UserAssignedIdentity": Name(
        input="resourceName", shortest=3, longest=128, pattern="[A-Za-z0-9][A-Za-z0-9_-]*"
    ),
    "network:LoadBalancer": Name(input="loadBalancerName", longest=80),
    "network:LocalNetworkGateway": Name(input="localNetworkGatewayName", longest=80),
    "network:NatGateway": Name(input="natGatewayName", longest=80),
    "network:NetworkInterface": Name(input="networkInterfaceName", longest=80),
    "network:NetworkSecurityGroup": Name(input="networkSecurityGroupName", longest=80),
    "network:PublicIPAddress": Name(input="publicIpAddressName", longest=80),
    "network:Subnet": Name(input="subnetName", longest=80),
    "network:VirtualNetwork": Name(input="virtualNetworkName", shortest=2, longest=64),
    "network:VirtualNetworkGateway": Name(input="virtualNetworkGatewayName", longest=80),
    "network:VirtualNetworkGatewayConnection": Name(input="virtualNetworkGatewayConnectionName", longest=80),
    "network:VirtualNetworkPeering": Name(input="virtualNetworkPeeringName", longest=80),
    "privatedns:PrivateRecordSet": Name(input="relativeRecordSetName", longest=63, pattern=_LABEL),
    "privatedns:PrivateZone": Name(input="privateZoneName", longest=253, pattern=rf"{_LABEL}(\.{_LABEL}){{1,33}}"),
    "privatedns:VirtualNetworkLink": Name(input="virtualNetworkLinkName", longest=80),
    "resources:ResourceGroup": Name(input="resourceGroupName", longest=90, pattern=r"[\w().-]*[\w()-]"),
}
"""Rules by resource type. The rule for a role assignment's name is in :data:`AZURE_LIMITS`."""

ZONES = "Load Balancer and Availability Zones, learn.microsoft.com; hashicorp/terraform-provider-azurerm issue 16470"
ZONED = frozenset({("PublicIPAddressInitArgs", "zones"), ("FrontendIPConfigurationArgs", "zones")})
"""Properties that take one zone or all of a region's."""

RULES = ("SecurityRuleArgs", "name")
"""Name of a security rule, the one nested part that :data:`NAMING` lists."""


def check(resource: Declared) -> Iterator[Fault]:
    """Yield everything about ``resource`` that Azure's documentation does not allow."""
    about = f"{resource.type} {resource.name}"
    rule = Name(input="name", longest=80).limit()
    limits = {**AZURE_LIMITS, RULES: rule}
    named = NAMES.get(resource.type.removeprefix("azure-native:"))
    if named and named.input not in resource.inputs:
        yield Fault(resource=about, at=named.input, value=None, allowed="a name of our own", source=NAMING)
    elif named and not named.limit().allows(resource.inputs[named.input]):
        value = resource.inputs[named.input]
        yield Fault(resource=about, at=named.input, value=value, allowed=named.limit().words, source=NAMING)
    for of, name, value, path in sdk_types.visit(sdk_types.arguments(resource.type), resource.inputs):
        if (of.__name__, name) in ZONED and value not in (["1"], ["2"], ["3"], ["1", "2", "3"]):
            yield Fault(resource=about, at=path, value=value, allowed="one zone, or all three in order", source=ZONES)
        limit = limits.get((of.__name__, name))
        if limit and not limit.allows(value):
            source = NAMING if limit is rule else "the SDK's documentation"
            yield Fault(resource=about, at=path, value=value, allowed=limit.words, source=source)
