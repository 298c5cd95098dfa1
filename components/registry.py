"""Registry of the components that declare an environment's part in each cloud: three of our own, and those of installed
packages.

A package adds one by an entry point of the group ``longhaul.components``, which is named as the kind of its sites and
names what answers :class:`~components.resources.CloudResources`. Each is loaded when an environment has a site of its
kind; Azure's is loaded always, since the control plane is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from components.resources import MakesResources

GROUP = "longhaul.components"
"""Group of the entry points."""


def resources_of(kind: str) -> MakesResources:
    """Return what declares sites of a kind; raise ``LookupError`` when nothing does."""
    if kind in OWN:
        return OWN[kind]()
    for point in entry_points(group=GROUP, name=kind):
        found: MakesResources = point.load()
        return found
    raise LookupError(f"nothing declares sites of kind {kind}: its package has no entry point in {GROUP}")


def _azure() -> MakesResources:
    from components.azure.cloud import AzureCloud

    return AzureCloud


def _aws() -> MakesResources:
    from components.aws.cloud import AwsCloud

    return AwsCloud


def _onprem() -> MakesResources:
    from components.onprem.cloud import OnpremCloud

    return OnpremCloud


OWN: Mapping[str, Callable[[], MakesResources]] = {"azure": _azure, "aws": _aws, "onprem": _onprem}
