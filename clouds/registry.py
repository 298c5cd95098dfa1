"""Which clouds there are: three of our own, and those of installed packages.

A package adds one by an entry point of the group ``longhaul.clouds``, which names a class that takes no arguments and
answers :class:`~clouds.base.cloud.Cloud`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import distributions
from typing import TYPE_CHECKING, Any

from clouds.aws.cloud import Aws
from clouds.azure.cloud import Azure
from clouds.onprem.cloud import Onprem

if TYPE_CHECKING:
    from clouds.base.cloud import Cloud
    from clouds.base.site import SiteBase

    AnyCloud = Cloud[Any]
    """A cloud to whoever does not know which: :func:`cloud_of` gives each site its own."""

GROUP = "longhaul.clouds"
"""Group of entry points."""


@cache
def clouds() -> Mapping[str, AnyCloud]:
    """Every cloud by its kind; ``ValueError`` when two have the same."""
    own: tuple[AnyCloud, ...] = (Azure(), Aws(), Onprem())
    found: dict[str, AnyCloud] = {}
    for cloud in (*own, *_installed()):
        if found.setdefault(cloud.kind, cloud) is not cloud:
            raise ValueError(f"two clouds are of kind {cloud.kind!r}: uninstall the package of one")
    return found


def cloud_of(site: SiteBase) -> AnyCloud:
    """The cloud that a site is in."""
    return clouds()[site.kind]


def _installed() -> Iterator[AnyCloud]:
    for distribution in distributions():
        # Hardly a package has the group: parsing all their files, as ``entry_points`` does, takes twice as long.
        if GROUP in (distribution.read_text("entry_points.txt") or ""):
            yield from (point.load()() for point in distribution.entry_points if point.group == GROUP)
