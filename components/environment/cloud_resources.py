"""Base class of an environment's resources in one cloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import pulumi
from pulumi import Output, ResourceOptions

from components.control_plane.plane import ControlPlaneComponent
from components.environment.links import End, EndContext
from components.model import AddressPlan, Environment


class UserDataMaker(Protocol):
    """Function that returns cloud-init's input for a pool's machines as plain text; with ``group``, for the machines of
    that group of the pool."""

    def __call__(self, pool: str, *, group: str | None = None) -> Output[str]: ...


class CloudResources:
    """Resources of an environment in one cloud. Nothing is made by default."""

    providers: Sequence[pulumi.ProviderResource] = ()
    """Providers that links between sites need; empty where the engine's default provider is used."""

    def __init__(self, environment: Environment, addresses: AddressPlan, *, parent: pulumi.Resource) -> None:
        self._environment, self._addresses = environment, addresses
        self._child = ResourceOptions(parent=parent)

    def make_site(self, name: str) -> None:
        """Make a site without its pools. The other methods for the site are called later."""

    def make_control_plane(self) -> ControlPlaneComponent:
        """Make the control plane in the site that the environment names."""
        site = self._environment.control_plane.site
        raise TypeError(f"the control plane cannot be in {site}, which is {self._environment.sites[site].kind}")

    def make_pools(self, site: str, user_data: UserDataMaker) -> None:
        """Make a site's pools, each as a component of type ``longhaul:KIND:Pool``. Plans recognise pools by this
        type."""

    def admit_controller(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the node controller ask about the cloud's machines. ``principal_ids`` has the object id of each API
        server machine's identity in Azure's directory. Return the resulting outputs of the stack."""
        return {}

    def admit_autoscaler(self, principal_ids: Mapping[str, pulumi.Input[str]]) -> Mapping[str, pulumi.Input[object]]:
        """Let the autoscaler size the cloud's pools, after :meth:`admit_controller`. ``principal_ids`` has the object
        id of the autoscaler's identity on each API server machine. Return the resulting outputs of the stack."""
        return {}

    def link_end(self, place: EndContext) -> End:
        """Make a site's end of its links."""
        raise NotImplementedError


def resources_of(kind: str) -> type[CloudResources]:
    """Return the class that declares sites of a kind, such as ``AwsResources`` in components/aws/cloud_resources.py.
    Its module is imported only now, so an environment without such sites does not load the cloud's SDK."""
    module = import_module(f"components.{kind}.cloud_resources")
    resources: type[CloudResources] = getattr(module, f"{kind.capitalize()}Resources")
    return resources
