"""Lists the clouds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from clouds.aws.cloud import Aws
from clouds.azure.cloud import Azure
from clouds.onprem.cloud import Onprem

if TYPE_CHECKING:
    from clouds.base.cloud import Cloud
    from clouds.base.control import ControlAccess, ControlMachines, Vault
    from clouds.base.site import SiteBase

    AnyCloud = Cloud[Any]
    """Type of a cloud for callers that do not know which cloud it is. :func:`cloud_of` returns the cloud of a site."""


CLOUDS: tuple[type[AnyCloud], ...] = (Azure, Aws, Onprem)


@cache
def clouds() -> Mapping[str, AnyCloud]:
    """Return every cloud by its kind."""
    return {cloud.kind: cloud() for cloud in CLOUDS}


def cloud_of(site: SiteBase) -> AnyCloud:
    """Return the cloud of a site."""
    return clouds()[site.kind]


def vault_at(url: str) -> Vault:
    """Return the vault at an address."""
    return _control_access().vault(url)


def machines_at(location: Mapping[str, Any]) -> ControlMachines:
    """Return the machines of the control plane at a location, as ``ControlAccess.location`` returns it."""
    return _control_access().machines_at(location)


def _control_access() -> ControlAccess[Any]:
    """Return the access to control planes. Only one cloud holds them, so states do not name the cloud of a vault or a
    machine."""
    return next(access for cloud in clouds().values() if cloud.holds_control_plane and (access := cloud.control))
