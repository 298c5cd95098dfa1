"""Limits that EC2's model gives in prose only: its shapes have hardly any pattern or range."""

from __future__ import annotations

from tests.contracts.limits import Limit, between, one_of

_CHARACTERS = r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]*"
_ENCRYPTION = one_of(
    "Valid values: AES128 | AES256 | AES128-GCM-16 | AES256-GCM-16",
    {"Value": "AES128"},
    {"Value": "AES256"},
    {"Value": "AES128-GCM-16"},
    {"Value": "AES256-GCM-16"},
)
_INTEGRITY = one_of(
    "Valid values: SHA1 | SHA2-256 | SHA2-384 | SHA2-512",
    *({"Value": f"SHA{size}"} for size in ("1", "2-256", "2-384", "2-512")),
)
_ANY_GROUP = (2, *range(14, 25), 35)

AWS_LIMITS = {
    ("CreateSecurityGroupRequest", "GroupName"): Limit(
        words="Up to 255 characters in length. Can't start with sg- . Valid characters: a-z, A-Z, 0-9, spaces, and "
        "._-:/()#,@[]+=&;{}!$*",
        longest=255,
        pattern=f"(?!sg-){_CHARACTERS}",
    ),
    ("CreateSecurityGroupRequest", "Description"): Limit(
        words="Up to 255 characters in length Valid characters: a-z, A-Z, 0-9, spaces, and ._-:/()#,@[]+=&;{}!$*",
        longest=255,
        pattern=_CHARACTERS,
    ),
    ("IpRange", "Description"): Limit(
        words="Up to 255 characters in length. Allowed characters are a-z, A-Z, 0-9, spaces, and ._-:/()#,@[]+=&;{}!$*",
        longest=255,
        pattern=_CHARACTERS,
    ),
    ("IpPermission", "IpProtocol"): Limit(
        words="The IP protocol name ( tcp , udp , icmp , icmpv6 ) or number", pattern=r"tcp|udp|icmp|icmpv6|-1|\d{1,3}"
    ),
    ("Tag", "Key"): Limit(
        words="Tag keys are case-sensitive and accept a maximum of 127 Unicode characters. May not begin with aws:",
        longest=127,
        pattern="(?!aws:).+",
    ),
    ("Tag", "Value"): Limit(
        words="Tag values are case-sensitive and accept a maximum of 256 Unicode characters.", longest=256
    ),
    ("CreateCustomerGatewayRequest", "BgpAsn"): between(1, 2_147_483_647, "Valid values: 1 to 2,147,483,647"),
    ("CreateCustomerGatewayRequest", "DeviceName"): Limit(
        words="Length Constraints: Up to 255 characters.", longest=255
    ),
    ("RequestLaunchTemplateData", "UserData"): Limit(words="User data is limited to 16 KB.", decoded=16 * 1024),
    ("LaunchTemplateInstanceMetadataOptionsRequest", "HttpPutResponseHopLimit"): between(
        1, 64, "Possible values: Integers from 1 to 64"
    ),
    ("LaunchTemplateEbsBlockDeviceRequest", "VolumeSize"): between(1, 65_536, "gp3 : 1 - 65,536 GiB"),
    ("VpnTunnelOptionsSpecification", "PreSharedKey"): Limit(
        words="Must be between 8 and 64 characters in length and cannot start with zero (0).",
        pattern=r"(?!0)[A-Za-z0-9._]{8,64}",
    ),
    ("VpnTunnelOptionsSpecification", "Phase1LifetimeSeconds"): between(900, 28_800, "A value between 900 and 28,800."),
    ("VpnTunnelOptionsSpecification", "Phase2LifetimeSeconds"): between(900, 3_600, "A value between 900 and 3,600."),
    ("VpnTunnelOptionsSpecification", "DPDTimeoutSeconds"): between(30, None, "A value greater than or equal to 30."),
    ("VpnTunnelOptionsSpecification", "DPDTimeoutAction"): one_of(
        "Valid Values: clear | none | restart", "clear", "none", "restart"
    ),
    ("VpnTunnelOptionsSpecification", "StartupAction"): one_of("Valid Values: add | start", "add", "start"),
    ("VpnTunnelOptionsSpecification", "IKEVersions"): one_of(
        "Valid values: ikev1 | ikev2", {"Value": "ikev1"}, {"Value": "ikev2"}
    ),
    ("VpnTunnelOptionsSpecification", "Phase1EncryptionAlgorithms"): _ENCRYPTION,
    ("VpnTunnelOptionsSpecification", "Phase2EncryptionAlgorithms"): _ENCRYPTION,
    ("VpnTunnelOptionsSpecification", "Phase1IntegrityAlgorithms"): _INTEGRITY,
    ("VpnTunnelOptionsSpecification", "Phase2IntegrityAlgorithms"): _INTEGRITY,
    ("VpnTunnelOptionsSpecification", "Phase1DHGroupNumbers"): one_of(
        "Valid values: 2 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 | 24 | 35",
        *({"Value": number} for number in _ANY_GROUP),
    ),
    ("VpnTunnelOptionsSpecification", "Phase2DHGroupNumbers"): one_of(
        "Valid values: 2 | 5 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 | 24 | 35 | 36 | 37",
        *({"Value": number} for number in (*_ANY_GROUP, 5, 36, 37)),
    ),
}
"""Limits of EC2, by shape and member."""
