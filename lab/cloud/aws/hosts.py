"""Host names of AWS's services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ACCOUNT = "123456789012"
"""Id of the lab's account; it is moto's own."""
SUFFIX = ".amazonaws.com"
REGIONAL = ("ec2", "autoscaling", "sts")
GLOBAL = ("iam", "sts")
GLOBAL_REGION = "us-east-1"
"""Region for which requests to global services are signed: docs.aws.amazon.com/general/latest/gr/iam-service.html."""


@dataclass(frozen=True, kw_only=True)
class RegionalEndpoint:
    """One service in one region."""

    service: str
    region: str


def names(regions: Sequence[str]) -> tuple[str, ...]:
    """Return every host name that is served for an environment's regions; none without a region."""
    if not regions:
        return ()
    regional = [f"{service}.{region}{SUFFIX}" for region in regions for service in REGIONAL]
    return (*(f"{service}{SUFFIX}" for service in GLOBAL), *regional)


def endpoint_of(host: str, regions: Sequence[str]) -> RegionalEndpoint | None:
    """Return the endpoint of a host name; None for a service or a region that the lab does not have."""
    if not host.endswith(SUFFIX):
        return None
    service, _, region = host.removesuffix(SUFFIX).partition(".")
    if not region and service in GLOBAL and regions:
        return RegionalEndpoint(service=service, region=GLOBAL_REGION)
    if region in regions and service in REGIONAL:
        return RegionalEndpoint(service=service, region=region)
    return None
