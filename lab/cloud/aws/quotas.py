"""Quotas of the account: AWS's defaults, and values that a test sets instead. The error for a launch beyond the vCPU
quota is in capacity_errors.py.

Defaults: docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html, docs.aws.amazon.com/vpn/latest/s2svpn/
vpn-limits.html; error codes: docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from moto.ec2.exceptions import EC2ClientError


@dataclass(frozen=True, kw_only=True)
class ServiceQuota:
    """A quota of each region."""

    name: str
    """Name in Service Quotas."""
    default: int
    code: str
    """Error code of a request that exceeds it."""
    counted: str
    """Name of the counted resource in error messages."""


ADDRESSES = ServiceQuota(name="EC2-VPC Elastic IPs", default=5, code="AddressLimitExceeded", counted="addresses")
GATEWAY_ADDRESSES = ServiceQuota(
    name="Elastic IP addresses per public NAT gateway", default=2, code="AddressLimitExceeded", counted="addresses"
)
CONNECTIONS = ServiceQuota(
    name="VPN connections per VGW", default=10, code="VpnConnectionLimitExceeded", counted="vpn connections"
)
REGION_CONNECTIONS = ServiceQuota(
    name="VPN connections per region", default=50, code="VpnConnectionLimitExceeded", counted="vpn connections"
)
QUOTAS = {quota.name: quota for quota in (ADDRESSES, GATEWAY_ADDRESSES, CONNECTIONS, REGION_CONNECTIONS)}
"""Quotas that the lab's AWS enforces, by name."""


def check_quota(quota: ServiceQuota, used: int, *, applied: Mapping[str, int], region: str) -> None:
    """Raise EC2ClientError when ``used`` has reached a quota. ``applied`` maps :func:`quota_key` to values that differ
    from the default."""
    if used >= applied.get(quota_key(quota.name, region), quota.default):
        raise EC2ClientError(quota.code, f"The maximum number of {quota.counted} has been reached.")


def quota_key(name: str, region: str) -> str:
    """Return the key of a region's quota."""
    return f"{name}@{region}"
