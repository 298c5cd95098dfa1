"""Images of machines in Azure: versions in a compute gallery."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import Any

from clouds.azure.site import AzureSite
from clouds.base.errors import CloudError
from clouds.base.images import BakeOptions, MachineImages, Recipe
from clouds.base.place import Place

PLACEHOLDER_VERSION = "0.0.0"
"""Version that no image has: `longhaul image build` uses the date as version."""

GALLERY_GROUP, GALLERY = "longhaul-images", "longhaul"
"""Resource group and gallery that docs/getting-started.md creates."""

_GALLERY = re.compile(
    r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.Compute/galleries/([^/]+)/images/([^/]+)/versions/"
)
_SUBNET = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft\.Network/virtualNetworks/([^/]+)/subnets/([^/]+)"
)
_GPU = "-gpu"
"""Ending of the name of an image definition for machines with GPUs."""

SECURITY_TYPE = "Standard"
"""Security type of every machine. Unless it is named, Azure makes machines with Trusted Launch and Secure Boot
(azure-compute-docs ``trusted-launch.md``, "Trusted Launch as default"). Secure Boot refuses NVIDIA's modules as bakes
compile them, and ND A100 v4 has no Trusted Launch ("Virtual machines sizes" there)."""

CONTROLLERS = "DiskControllerTypes"
"""Feature of a definition: the disk controllers with which its images start. Machines of v6 and later have NVMe alone,
and do not start from an image that does not name it (kubernetes-sigs/image-builder issue 1875,
openshift/installer pull request 9232). Features of a definition never change."""

DEFINITION_FEATURES = f"SecurityType={SECURITY_TYPE} {CONTROLLERS}=SCSI,NVMe"
"""Features of image definitions as `az sig image-definition create` takes them. ``Standard`` tells that command to give
the definition no security type (Azure/azure-cli issue 24127); left out, the type would be `TrustedLaunchSupported`
(issue 28557). A definition of that type takes no version from a machine, which is what Packer publishes
(hashicorp/packer-plugin-azure issue 304; azure-compute-docs ``trusted-launch-portal.md``, "Trusted Launch VM supported
images")."""

MACHINES_PER_REPLICA, LEAST_REPLICAS, MOST_REPLICAS = 20, 3, 100

_SECRET = "PKR_VAR_azure_client_secret"  # noqa: S105 - a variable's name
_CLIENT = "PKR_VAR_azure_client_id"


class AzureMachineImages(MachineImages[AzureSite]):
    """Images that machines in Azure boot."""

    def is_placeholder(self, site: AzureSite) -> bool:
        """Return whether the image id in a site's section is a placeholder."""
        return site.image.endswith(f"/versions/{PLACEHOLDER_VERSION}")

    def placeholder(self, account: str, *, kind: str) -> str:
        """Return the id of the first image of this kind, with the placeholder's version. The id names the gallery for
        the baked image."""
        definition = "node-gpu" if kind == "gpu" else "node"
        return (
            f"/subscriptions/{account}/resourceGroups/{GALLERY_GROUP}/providers/Microsoft.Compute/galleries/{GALLERY}"
            f"/images/{definition}/versions/{PLACEHOLDER_VERSION}"
        )

    def recipe(self, place: Place[AzureSite], asked: BakeOptions, version: str) -> Recipe:
        """Return the settings with which Packer bakes the image, in the gallery of the site's present image id. Raise
        ``ValueError`` when an option or that id cannot be used."""
        site = place.site
        match = _GALLERY.match(site.image)
        if match is None:
            raise ValueError(f"sites.{asked.site}.image is in no compute gallery: {site.image}")
        subscription, group, gallery, named = match.groups()
        definition = named.removesuffix(_GPU) + (_GPU if asked.kind == "gpu" else "")
        root = f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/galleries/{gallery}"
        variables: dict[str, Any] = {
            "azure_subscription": site.subscription,
            "azure_tenant": site.tenant,
            "azure_gallery": {
                "subscription": subscription,
                "resource_group": group,
                "gallery": gallery,
                "definition": definition,
            },
            "azure_replicas": replicas(place),
            "azure_image_storage": "Standard_ZRS" if site.zones else "Standard_LRS",
            **({"azure_network": _network(asked.subnet)} if asked.subnet else {}),
        }
        return Recipe(
            builder="azure-arm",
            machine_type="Standard_D4s_v5",
            image=f"{root}/images/{definition}/versions/{version}",
            variables=variables,
        )

    def credentials(self, environ: Mapping[str, str], *, needed: bool) -> dict[str, str]:
        """Return Packer's variables with a service principal's id and secret. Without a service principal, return empty
        values, with which Packer's plugin uses the Azure CLI's credentials. Raise ``CloudError`` when credentials are
        ``needed`` and there is no Azure CLI either."""
        if environ.get("AZURE_CLIENT_ID") and environ.get("AZURE_CLIENT_SECRET"):
            return {_CLIENT: environ["AZURE_CLIENT_ID"], _SECRET: environ["AZURE_CLIENT_SECRET"]}
        if needed and shutil.which("az", path=environ.get("PATH")) is None:
            raise CloudError(
                "no Azure credentials: sign in with the Azure CLI (`az login`; in CI `az login --federated-token` or "
                "`--identity`), or set AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
            )
        return {_CLIENT: "", _SECRET: ""}

    def leftovers(self, name: str, image: str, variables: Mapping[str, Any]) -> list[str]:
        """Return commands that show what a killed bake left behind."""
        subscription = variables["azure_subscription"]
        return [
            f"az group show --subscription {subscription} --name {name}-bake",
            f"az group delete --subscription {subscription} --name {name}-bake",
            f"az resource show --ids {image} --query properties.provisioningState   # delete it unless Succeeded",
        ]


def replicas(place: Place[AzureSite]) -> int:
    """Return how many copies of an image version a site's machines need: one for each 20 machines that may be made at
    the same time, at least 3 and at most 100 (learn.microsoft.com, "Azure Compute Gallery", "Best practices" and
    "Scaling"; the most is packer-plugin-azure's ``SharedImageGalleryImageVersionDefaultMaxReplicaCount``). Fewer, and
    machines are throttled while they are made."""
    machines = sum(pool.max for pool in place.pools.values())
    return min(max(-(-machines // MACHINES_PER_REPLICA), LEAST_REPLICAS), MOST_REPLICAS)


def _network(subnet: str) -> dict[str, str]:
    match = _SUBNET.fullmatch(subnet)
    if match is None:
        raise ValueError(
            f"--subnet {subnet}: on Azure the subnet's resource id, /subscriptions/…/resourceGroups/…/providers/"
            "Microsoft.Network/virtualNetworks/…/subnets/…"
        )
    return dict(zip(("resource_group", "network", "subnet"), match.groups(), strict=True))
