"""What the program asks of every cloud: ``cloud.py`` of each answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import pulumi
from pulumi import Output

from components.control_plane.plane import ControlPlane
from components.links import End, Place


class UserData(Protocol):
    """cloud-init's input for a pool's machines, plain; of one of its groups, where a pool has several."""

    def __call__(self, pool: str, *, group: str | None = None) -> Output[str]: ...


class CloudResources(Protocol):
    """What an environment has in one cloud."""

    @property
    def providers(self) -> Sequence[pulumi.ProviderResource]:
        """Providers that what links sites needs; none where the engine has one by default."""

    def make_site(self, name: str) -> None:
        """Make a site without its pools; comes before all else of it."""

    def make_pools(self, site: str, user_data: UserData) -> None:
        """Make a site's pools, each a component of type ``longhaul:KIND:Pool``: plans know it by that."""

    def admit_controller(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the node controller ask about the cloud's machines: by API server machine, the object id of its identity
        in Azure's directory. Returns what the stack exports of it."""

    def link_end(self, place: Place) -> End:
        """Make a site's end of its links."""


@runtime_checkable
class HasControlPlane(Protocol):
    """A cloud that the control plane can be in."""

    def make_control_plane(self) -> ControlPlane:
        """Make it, in the site that the environment says."""


MakesResources = Callable[..., CloudResources]
"""Takes the environment and its addresses, and as ``parent`` the component that everything is below."""
