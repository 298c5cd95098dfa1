"""Interface between the program and every cloud, which the ``cloud.py`` of each implements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import pulumi
from pulumi import Output

from components.control_plane.plane import ControlPlaneComponent
from components.environment.links import End, EndContext


class UserDataMaker(Protocol):
    """Function that returns cloud-init's input for a pool's machines as plain text; with ``group``, for that group of
    the pool."""

    def __call__(self, pool: str, *, group: str | None = None) -> Output[str]: ...


class CloudResources(Protocol):
    """Resources of an environment in one cloud."""

    @property
    def providers(self) -> Sequence[pulumi.ProviderResource]:
        """Providers that links between sites need; empty where the engine's default provider is used."""

    def make_site(self, name: str) -> None:
        """Make a site without its pools. This comes before everything else of the site."""

    def make_pools(self, site: str, user_data: UserDataMaker) -> None:
        """Make a site's pools, each as a component of type ``longhaul:KIND:Pool``, by which plans recognise a pool."""

    def admit_controller(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the node controller ask about the cloud's machines. ``principal_ids`` has the object id of each API
        server machine's identity in Azure's directory. Return the resulting outputs of the stack."""

    def admit_autoscaler(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the autoscaler size the cloud's pools, after :meth:`admit_controller`. ``principal_ids`` has the object
        id of its identity on each API server machine. Return the resulting outputs of the stack."""

    def link_end(self, place: EndContext) -> End:
        """Make a site's end of its links."""


@runtime_checkable
class HasControlPlane(Protocol):
    """A cloud that the control plane can be in."""

    def make_control_plane(self) -> ControlPlaneComponent:
        """Make the control plane in the site that the environment names."""


MakesResources = Callable[..., CloudResources]
"""Function that takes the environment and its addresses, and as ``parent`` the component above all others."""
