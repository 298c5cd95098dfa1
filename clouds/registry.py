"""Lists the clouds: the three built-in ones, and those of installed packages. A new cloud needs no edit here.

A package adds a cloud with an entry point of the group ``longhaul.clouds``. The entry point names a class that is
called without arguments and whose instance implements :class:`~clouds.base.cloud.Cloud`.
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
    """Type of a cloud for callers that do not know which one it is. :func:`cloud_of` returns the cloud of a site."""

GROUP = "longhaul.clouds"
"""Name of the entry point group."""


@cache
def clouds() -> Mapping[str, AnyCloud]:
    """Return every cloud by its kind. Raise ``ValueError`` when two clouds have the same kind."""
    own: tuple[AnyCloud, ...] = (Azure(), Aws(), Onprem())
    found: dict[str, AnyCloud] = {}
    for cloud in (*own, *_installed()):
        if found.setdefault(cloud.kind, cloud) is not cloud:
            raise ValueError(f"two clouds are of kind {cloud.kind!r}: uninstall the package of one")
    return found


def cloud_of(site: SiteBase) -> AnyCloud:
    """Return the cloud of a site."""
    return clouds()[site.kind]


def _installed() -> Iterator[AnyCloud]:
    for distribution in distributions():
        # Few packages have the group. ``entry_points`` parses the files of all packages, which takes twice as long.
        if GROUP in (distribution.read_text("entry_points.txt") or ""):
            yield from (point.load()() for point in distribution.entry_points if point.group == GROUP)
