"""Names of an environment's resources in AWS, and their largest lengths."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.site import AwsSite
from clouds.base.names import LimitedName, MainName, ResourceNames
from clouds.base.place import Place

ROLE = 64
"""Largest number of characters of a role's name (docs.aws.amazon.com, "IAM and AWS STS quotas")."""


def node_role(place: Place[AwsSite]) -> str:
    """Return the name of the role, and of the instance profile, of a site's nodes. A machine with this role counts as
    one of them."""
    return place.cloud_name(f"{place.environment}-{place.name}-node")


def quarantine_group(place: Place[AwsSite]) -> str:
    """Return the name of the security group of a site's machines in quarantine."""
    return place.cloud_name(f"{place.environment}-{place.name}-network-quarantine")


class AwsResourceNames(ResourceNames[AwsSite]):
    """Names in AWS."""

    def main(self, place: Place[AwsSite]) -> Iterator[MainName]:
        """Yield the names of the site's VPC and of its nodes' role."""
        vpc = place.site.existing.vpc
        made = place.cloud_name(f"{place.environment}-{place.name}-network-vpc")
        yield MainName(what="VPC", name=vpc or made, existing=vpc is not None)
        yield MainName(what="role of nodes", name=node_role(place))

    def of_site(self, place: Place[AwsSite]) -> Iterator[LimitedName]:
        """Yield the names of three IAM roles: that of the site's nodes, and those of the node controller and the
        autoscaler, which work in every site."""
        programs = (place.cloud_name(f"{place.environment}-{program}") for program in ("node-controller", "autoscaler"))
        yield from (LimitedName(what="a role", name=name, most=ROLE) for name in (node_role(place), *programs))
