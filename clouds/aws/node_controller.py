"""Access of the node controller to machines in AWS. The controller lists them in EC2, using a role that it
assumes with its machine's identity."""

from __future__ import annotations

from clouds.aws.names import node_role
from clouds.aws.site import AwsSite
from clouds.base.place import Place


def takes_role() -> bool:
    """Return true: the node controller runs outside AWS, so it needs a role there."""
    return True


def settings(place: Place[AwsSite]) -> dict[str, str]:
    """Return the region in which it lists machines, and the role by which machines prove their identity."""
    return {"region": place.site.region, "node_role": node_role(place)}
