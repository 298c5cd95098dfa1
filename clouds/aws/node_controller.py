"""Machines in AWS to the node controller, which asks EC2 for them with a role that its machine's identity becomes."""

from __future__ import annotations

from clouds.aws.names import node_role
from clouds.aws.site import AwsSite
from clouds.base.place import Place


def takes_role() -> bool:
    """Yes: it comes from elsewhere."""
    return True


def source(place: Place[AwsSite]) -> dict[str, str]:
    """The region that it lists, and the role that machines prove themselves by."""
    return {"region": place.site.region, "node_role": node_role(place)}
