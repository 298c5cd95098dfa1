"""The names that AWS's services answer at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ACCOUNT = "123456789012"
"""The lab's account; moto's own."""
SUFFIX = ".amazonaws.com"
REGIONAL = ("ec2", "autoscaling", "sts")
GLOBAL = ("iam", "sts")
GLOBAL_REGION = "us-east-1"
"""Where requests to global services are signed for: docs.aws.amazon.com/general/latest/gr/iam-service.html."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One service in one region."""

    service: str
    region: str


def names(regions: Sequence[str]) -> tuple[str, ...]:
    """Every name that is served, for the regions of one environment; none without a region."""
    if not regions:
        return ()
    regional = [f"{service}.{region}{SUFFIX}" for region in regions for service in REGIONAL]
    return (*(f"{service}{SUFFIX}" for service in GLOBAL), *regional)


def endpoint_of(host: str, regions: Sequence[str]) -> Endpoint | None:
    """What a host name stands for; None for a service or a region that the lab does not have."""
    if not host.endswith(SUFFIX):
        return None
    service, _, region = host.removesuffix(SUFFIX).partition(".")
    if not region and service in GLOBAL and regions:
        return Endpoint(service=service, region=GLOBAL_REGION)
    if region in regions and service in REGIONAL:
        return Endpoint(service=service, region=region)
    return None
