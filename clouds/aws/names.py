"""Names of an environment's resources in AWS, and the largest length of a role's name."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.site import AwsSite
from clouds.base.names import LimitedName, MainName, ResourceNames
from clouds.base.place import Place

ROLE = 64
"""Largest number of characters of a role's name (docs.aws.amazon.com, "IAM and AWS STS quotas")."""


def node_role(place: Place[AwsSite]) -> str:
    """Return the name of the role of a site's nodes, which is also the name of the nodes' instance profile. A machine
    with this role counts as a node of the site."""
    return place.cloud_name(f"{place.environment}-{place.name}-node")


def quarantine_group(place: Place[AwsSite]) -> str:
    """Return the name of the security group of a site's machines in quarantine."""
    return place.cloud_name(f"{place.environment}-{place.name}-network-quarantine")


class AwsResourceNames(ResourceNames[AwsSite]):
    """Names of resources in AWS."""

    def main(self, place: Place[AwsSite]) -> Iterator[MainName]:
        """Yield the name of the site's VPC, or the id of an existing VPC, and the name of the role of the site's
        nodes."""
        vpc = place.site.existing.vpc
        made = place.cloud_name(f"{place.environment}-{place.name}-network-vpc")
        yield MainName(what="VPC", name=vpc or made, existing=vpc is not None)
        yield MainName(what="role of nodes", name=node_role(place))

    def of_site(self, place: Place[AwsSite]) -> Iterator[LimitedName]:
        """Yield the names of three IAM roles: the role of the site's nodes, the node controller's role and the
        autoscaler's role. The node controller and the autoscaler work in every site."""
        programs = (place.cloud_name(f"{place.environment}-{program}") for program in ("node-controller", "autoscaler"))
        yield from (LimitedName(what="a role", name=name, most=ROLE) for name in (node_role(place), *programs))
