"""Lists the components that declare an environment's part in each cloud. Each is loaded when an environment has a site
of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from components.environment.cloud_resources import MakesResources


def resources_of(kind: str) -> MakesResources:
    """Return what declares sites of a kind."""
    return COMPONENTS[kind]()


def _azure() -> MakesResources:
    from components.azure.cloud import AzureCloud

    return AzureCloud


def _aws() -> MakesResources:
    from components.aws.cloud import AwsCloud

    return AwsCloud


def _onprem() -> MakesResources:
    from components.onprem.cloud import OnpremCloud

    return OnpremCloud


COMPONENTS: Mapping[str, Callable[[], MakesResources]] = {"azure": _azure, "aws": _aws, "onprem": _onprem}
"""Function that imports the components of each kind of site."""
