"""What is to be baked, worked out from the environment and what was asked, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from longhaul.exits import CommandError, Exit

if TYPE_CHECKING:
    from clouds.base.site import SiteBase
    from components.model import Environment

KINDS = ("node", "gpu")
MACHINE_TYPES = {"aws": "m7i.xlarge", "azure": "Standard_D4s_v5"}
"""What is baked on: four processors, for NVIDIA's modules are compiled. A GPU is not needed."""
SOURCES = {"aws": "amazon-ebs", "azure": "azure-arm"}
"""Packer's builders, by the site's kind; images/packer has one of each."""

_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}")
_LARGEST = 2**31 - 1
"""Of each of a version's three numbers (learn.microsoft.com, "Store and share images in an Azure Compute Gallery")."""
_GALLERY = re.compile(
    r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.Compute/galleries/([^/]+)/images/([^/]+)/versions/"
)
_AZURE_SUBNET = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft\.Network/virtualNetworks/([^/]+)/subnets/([^/]+)"
)
_AWS_SUBNET = re.compile(r"subnet-[0-9a-f]{8,17}")
_GPU = "-gpu"
"""What the name of a gallery's image definition ends with, if it is for machines with GPUs."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says."""

    site: str
    kind: str = KINDS[0]
    version: str = ""
    subnet: str = ""
    machine_type: str = ""
    encryption_key: str = ""
    base: str = ""


@dataclass(frozen=True, kw_only=True)
class Bake:
    """One image to be made."""

    env: str
    site: str
    cloud: str
    """``aws`` or ``azure``."""
    kind: str
    version: str
    depot: str
    """Where the machine gets what it is made of; empty for where that is published."""
    image: str
    """Id of the image where it is known before there is one (Azure); else empty."""
    variables: Mapping[str, Any]
    """Packer's, as far as they follow from the environment."""

    @property
    def name(self) -> str:
        """Of the image and of all that is made for it; images/packer/node.pkr.hcl has the same."""
        return f"longhaul-{self.kind}-{self.version}"

    @property
    def only(self) -> str:
        """The one of Packer's builds that is meant."""
        return f"longhaul.{SOURCES[self.cloud]}.node"


def plan_bake(environment: Environment, asked: Asked, *, now: datetime) -> Bake:
    """What is to be baked; ``CommandError`` with what is wrong and what to do. Without a version, ``now`` makes one."""
    site = cloud_site(environment, asked.site)
    version = asked.version or f"{now.year}.{now.month * 100 + now.day}.{now.hour * 100 + now.minute}"
    _check_version(version)
    image, cloud = _azure(site, asked, version) if site.kind == "azure" else _aws(asked)
    variables = {
        "environment": environment.name,
        "site": asked.site,
        "region": site.region,
        "kind": asked.kind,
        "image_version": version,
        "machine_type": asked.machine_type or MACHINE_TYPES[site.kind],
        "subnet": asked.subnet,
        "ssh_sources": _sources(environment, asked),
        "encryption_key": asked.encryption_key,
        "base_version": asked.base,
        **cloud,
    }
    return Bake(
        env=environment.name,
        site=asked.site,
        cloud=site.kind,
        kind=asked.kind,
        version=version,
        depot=site.depot or "",
        image=image,
        variables=variables,
    )


def cloud_site(environment: Environment, name: str) -> SiteBase:
    """The site of that name; ``CommandError`` when there is none, or none that has images."""
    site = environment.sites.get(name)
    clouds = ", ".join(key for key, value in environment.sites.items() if value.kind != "onprem") or "none"
    if site is None:
        raise CommandError(f"{environment.name} has no site {name}; its sites in clouds: {clouds}", code=Exit.USAGE)
    if site.kind == "onprem":
        raise CommandError(
            f"{name} is on-prem: its hosts have no image, `longhaul rack` makes them what they are. Sites in clouds: "
            f"{clouds}",
            code=Exit.USAGE,
        )
    return site


def _check_version(version: str) -> None:
    if not _VERSION.fullmatch(version) or any(int(part) > _LARGEST for part in version.split(".")):
        raise CommandError(
            f"--version {version}: three numbers without leading zeros, such as 1.4.0, each at most {_LARGEST}",
            code=Exit.USAGE,
        )


def _sources(environment: Environment, asked: Asked) -> list[str]:
    """Who may reach the machine while it is baked: in a subnet of one's own the environment's inside as well."""
    inside = [str(environment.supernet)] if asked.subnet else []
    found = inside + [str(range_) for range_ in environment.access.operators]
    if not found:
        raise CommandError(
            "nobody could reach the machine that is baked: name a subnet that this machine reaches by private address "
            "(--subnet), or the public ranges that operators come from (access.operators)",
            code=Exit.USAGE,
        )
    return found


def _azure(site: SiteBase, asked: Asked, version: str) -> tuple[str, dict[str, Any]]:
    """The image's id, and Packer's variables. The gallery is that of the image which the site has now."""
    from clouds.azure.site import AzureSite

    found = _GALLERY.match(site.image)
    if found is None or not isinstance(site, AzureSite):
        raise CommandError(f"sites.{asked.site}.image is in no compute gallery: {site.image}", code=Exit.USAGE)
    subscription, group, gallery, named = found.groups()
    definition = named.removesuffix(_GPU) + (_GPU if asked.kind == "gpu" else "")
    place = f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/galleries/{gallery}"
    return f"{place}/images/{definition}/versions/{version}", {
        "azure_subscription": site.subscription,
        "azure_tenant": site.tenant,
        "azure_gallery": {
            "subscription": subscription,
            "resource_group": group,
            "gallery": gallery,
            "definition": definition,
        },
        **({"azure_network": _azure_network(asked.subnet)} if asked.subnet else {}),
    }


def _azure_network(subnet: str) -> dict[str, str]:
    found = _AZURE_SUBNET.fullmatch(subnet)
    if found is None:
        raise CommandError(
            f"--subnet {subnet}: on Azure the subnet's resource id, /subscriptions/…/resourceGroups/…/providers/"
            "Microsoft.Network/virtualNetworks/…/subnets/…",
            code=Exit.USAGE,
        )
    return dict(zip(("resource_group", "network", "subnet"), found.groups(), strict=True))


def _aws(asked: Asked) -> tuple[str, dict[str, Any]]:
    if asked.subnet and not _AWS_SUBNET.fullmatch(asked.subnet):
        raise CommandError(f"--subnet {asked.subnet}: on AWS the subnet's id, subnet-…", code=Exit.USAGE)
    if asked.base and not asked.base.startswith("ami-"):
        raise CommandError(f"--base {asked.base}: on AWS the id of one of Ubuntu's images, ami-…", code=Exit.USAGE)
    return "", {}
