"""Azure, with one module for each aspect."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from clouds.azure.site import AzureSite
from clouds.base.aspects import Aspects

if TYPE_CHECKING:
    from clouds.base.picture import Picture


class Azure(Aspects):
    """The cloud of every :class:`AzureSite`."""

    kind = "azure"
    title = "Azure"
    site_type = AzureSite
    holds_control_plane = True
    provider = "azure-native"
    rents = True
    administrator_keys: Mapping[str, int] = MappingProxyType({"ssh-ed25519": 256, "ssh-rsa": 2048})
    """learn.microsoft.com/azure/virtual-machines/linux/create-ssh-keys-detailed, "Supported SSH key formats"."""
    user_data_limit = 65535
    """Bytes before the base64 of the API (compute REST API, "OSProfile.customData")."""

    if TYPE_CHECKING:
        from clouds.azure import (
            checks,
            control,
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
        from clouds.azure.picture import PICTURE

        return PICTURE
