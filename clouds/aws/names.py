"""Names of an environment's resources in AWS, and how long AWS lets them be."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.site import AwsSite
from clouds.base.names import Main, Sized
from clouds.base.place import Place

ROLE = 64
"""Characters of a role (docs.aws.amazon.com, "IAM and AWS STS quotas")."""


def node_role(place: Place[AwsSite]) -> str:
    """The role, and instance profile, of a site's nodes: who has it is one of them."""
    return place.cloud_name(f"{place.environment}-{place.name}-node")


def main(place: Place[AwsSite]) -> Iterator[Main]:
    """Its network, and its nodes' role."""
    vpc = place.site.existing.vpc
    made = place.cloud_name(f"{place.environment}-{place.name}-network-vpc")
    yield Main(what="VPC", name=vpc or made, existing=vpc is not None)
    yield Main(what="role of nodes", name=node_role(place))


def of_site(place: Place[AwsSite]) -> Iterator[Sized]:
    """The roles of its nodes and of the node controller, which works in every site."""
    controller = place.cloud_name(f"{place.environment}-node-controller")
    yield from (Sized(what="a role", name=name, most=ROLE) for name in (node_role(place), controller))


def of_pool(_place: Place[AwsSite], _pool: str, /) -> Iterator[Sized]:
    """None: an auto scaling group's has 255 characters, and nodes are called by their instances' ids."""
    yield from ()


def of_link(_place: Place[AwsSite], _link: str, _end: str, /) -> Iterator[Sized]:
    """None: connections are known by ids, their names are tags."""
    yield from ()
