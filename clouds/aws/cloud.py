"""AWS, with one module for each aspect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from clouds.aws.site import AwsSite
from clouds.base.aspects import Aspects

if TYPE_CHECKING:
    from clouds.base.picture import Picture


class Aws(Aspects):
    """The cloud of every :class:`AwsSite`."""

    kind = "aws"
    title = "AWS"
    site_type = AwsSite
    holds_control_plane = False
    provider = "aws"
    rents = True
    control = None
    administrator_keys: Mapping[str, int] = MappingProxyType({})
    user_data_limit = 16384
    """Bytes before the base64 of the API (EC2 user guide, "Run commands when you launch an EC2 instance with user data
    input")."""

    if TYPE_CHECKING:
        from clouds.aws import (
            checks,
            doctor,
            fleet,
            groups,
            images,
            immutable,
            listing,
            machine_access,
            machine_identity,
            machine_types,
            made,
            names,
            node_controller,
            policy,
            prices,
            promises,
            quarantine,
            resources,
            tags,
            tunnels,
        )

    @property
    def picture(self) -> Picture:
        """Appearance of its sites on the map."""
        from clouds.aws.picture import PICTURE

        return PICTURE
