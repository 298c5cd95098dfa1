"""Plan of a bake, derived from the environment and the request before anything is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clouds.base.images import BakeOptions
from clouds.base.tags import site_tags
from clouds.registry import cloud_of
from components.model.sites.places import place_of
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.site import SiteBase
    from components.model import Environment

_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}")
_LARGEST = 2**31 - 1
"""Maximum of each of a version's three numbers (learn.microsoft.com, "Store and share images in an Azure Compute
Gallery")."""


@dataclass(frozen=True, kw_only=True)
class Bake:
    """One image to bake."""

    env: str
    site: str
    cloud: str
    """Cloud of the site."""
    builder: str
    """Packer's builder; images/packer has a source for each."""
    kind: str
    version: str
    depot: str
    """Address of the depot that the machine installs from; empty for the original publishers."""
    depot_key: str
    """Public keys of the depots' signers, in the form of the environment's file; empty for none."""
    depot_authority: str
    """Authorities of the depots' servers, PEM; empty for the machine's own store."""
    image: str
    """Id of the image when it is known before the bake; otherwise empty."""
    versions: Mapping[str, str]
    """Versions of releases in tools.toml that the environment chooses, by release."""
    variables: Mapping[str, Any]
    """Packer's variables that are derived from the environment."""

    @property
    def name(self) -> str:
        """Return the name of the image and of everything made for it; images/packer/node.pkr.hcl uses the same name."""
        return f"longhaul-{self.kind}-{self.version}"

    @property
    def only(self) -> str:
        """Return the name of the only Packer build to run."""
        return f"longhaul.{self.builder}.node"


def plan_bake(environment: Environment, asked: BakeOptions, *, now: datetime) -> Bake:
    """Return the plan. Raise ``CommandError`` when the request is invalid. A missing version is derived from
    ``now``."""
    site = cloud_site(environment, asked.site)
    version = asked.version or f"{now.year}.{now.month * 100 + now.day}.{now.hour * 100 + now.minute}"
    _check_version(version)
    try:
        recipe = cloud_of(site).images.recipe(place_of(environment, asked.site), asked, version)
    except ValueError as error:
        raise CommandError(str(error), code=Exit.USAGE) from error
    variables = {
        "tags": site_tags(environment, asked.site),
        "region": site.region,
        "kind": asked.kind,
        "image_version": version,
        "machine_type": asked.machine_type or recipe.machine_type,
        "subnet": asked.subnet,
        "ssh_sources": _sources(environment, asked),
        "encryption_key": asked.encryption_key,
        "base_version": asked.base,
        **recipe.variables,
    }
    return Bake(
        env=environment.name,
        site=asked.site,
        cloud=site.kind,
        builder=recipe.builder,
        kind=asked.kind,
        version=version,
        depot=site.depot or "",
        depot_key=environment.depots.key or "",
        depot_authority=environment.depots.authority or "",
        image=recipe.image,
        versions=environment.versions.pinned(),
        variables=variables,
    )


def cloud_site(environment: Environment, name: str) -> SiteBase:
    """Return the site ``name``. Raise ``CommandError`` when it does not exist or has no images."""
    site = environment.sites.get(name)
    rented = ", ".join(key for key, value in environment.sites.items() if cloud_of(value).rents) or "none"
    if site is None:
        raise CommandError(f"{environment.name} has no site {name}; its sites in clouds: {rented}", code=Exit.USAGE)
    if not cloud_of(site).rents:
        raise CommandError(
            f"{name} is on-prem: its hosts have no image, and `longhaul hosts` installs them. Sites in clouds: "
            f"{rented}",
            code=Exit.USAGE,
        )
    return site


def _check_version(version: str) -> None:
    if not _VERSION.fullmatch(version) or any(int(part) > _LARGEST for part in version.split(".")):
        raise CommandError(
            f"--version {version}: three numbers without leading zeros, such as 1.4.0, each at most {_LARGEST}",
            code=Exit.USAGE,
        )


def _sources(environment: Environment, asked: BakeOptions) -> list[str]:
    """Return the ranges that may reach the machine while it is baked. With a subnet of the user's own, the
    environment's supernet is one of these ranges."""
    inside = [str(environment.supernet)] if asked.subnet else []
    ranges = inside + [str(range_) for range_ in environment.access.operators]
    if not ranges:
        raise CommandError(
            "the machine for the bake could not be reached: name a subnet that this machine reaches by private "
            "address (--subnet), or the operators' public ranges (access.operators)",
            code=Exit.USAGE,
        )
    return ranges
