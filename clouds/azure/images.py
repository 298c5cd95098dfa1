"""Images of machines in Azure: versions in a compute gallery."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import Any

from clouds.azure.site import AzureSite
from clouds.base.baking import Asked, Recipe
from clouds.base.errors import CloudError

PLACEHOLDER_VERSION = "0.0.0"
"""Version of no image: `longhaul image build` makes versions of the date."""

GALLERY_GROUP, GALLERY = "longhaul-images", "longhaul"
"""Resource group and gallery that docs/getting-started.md makes."""

_GALLERY = re.compile(
    r"/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft\.Compute/galleries/([^/]+)/images/([^/]+)/versions/"
)
_SUBNET = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/([^/]+)/providers/Microsoft\.Network/virtualNetworks/([^/]+)/subnets/([^/]+)"
)
_GPU = "-gpu"
"""What the name of a gallery's image definition ends with, if it is for machines with GPUs."""

_SECRET = "PKR_VAR_azure_client_secret"  # noqa: S105 - a variable's name
_CLIENT = "PKR_VAR_azure_client_id"


def stands_for_none(site: AzureSite) -> bool:
    """Whether the id that a site's file gives stands for an image that is still to be baked."""
    return site.image.endswith(f"/versions/{PLACEHOLDER_VERSION}")


def placeholder(subscription: str, *, kind: str) -> str:
    """The id that the first image of this kind would have, but for its version: it says which gallery the baked one
    goes into."""
    definition = "node-gpu" if kind == "gpu" else "node"
    return (
        f"/subscriptions/{subscription}/resourceGroups/{GALLERY_GROUP}/providers/Microsoft.Compute/galleries/{GALLERY}"
        f"/images/{definition}/versions/{PLACEHOLDER_VERSION}"
    )


def recipe(site: AzureSite, asked: Asked, version: str) -> Recipe:
    """How an image is baked as it is asked for; ``ValueError`` with what is wrong. The gallery is that of the image
    which the site has now."""
    found = _GALLERY.match(site.image)
    if found is None:
        raise ValueError(f"sites.{asked.site}.image is in no compute gallery: {site.image}")
    subscription, group, gallery, named = found.groups()
    definition = named.removesuffix(_GPU) + (_GPU if asked.kind == "gpu" else "")
    place = f"/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/galleries/{gallery}"
    variables: dict[str, Any] = {
        "azure_subscription": site.subscription,
        "azure_tenant": site.tenant,
        "azure_gallery": {
            "subscription": subscription,
            "resource_group": group,
            "gallery": gallery,
            "definition": definition,
        },
        **({"azure_network": _network(asked.subnet)} if asked.subnet else {}),
    }
    return Recipe(
        builder="azure-arm",
        machine_type="Standard_D4s_v5",
        image=f"{place}/images/{definition}/versions/{version}",
        variables=variables,
    )


def _network(subnet: str) -> dict[str, str]:
    found = _SUBNET.fullmatch(subnet)
    if found is None:
        raise ValueError(
            f"--subnet {subnet}: on Azure the subnet's resource id, /subscriptions/…/resourceGroups/…/providers/"
            "Microsoft.Network/virtualNetworks/…/subnets/…"
        )
    return dict(zip(("resource_group", "network", "subnet"), found.groups(), strict=True))


def credentials(environ: Mapping[str, str], *, needed: bool) -> dict[str, str]:
    """A service principal's secret, or who is signed in with the Azure CLI: what Packer's plugin can be."""
    if environ.get("AZURE_CLIENT_ID") and environ.get("AZURE_CLIENT_SECRET"):
        return {_CLIENT: environ["AZURE_CLIENT_ID"], _SECRET: environ["AZURE_CLIENT_SECRET"]}
    if needed and shutil.which("az", path=environ.get("PATH")) is None:
        raise CloudError(
            "no Azure credentials: sign in with the Azure CLI (`az login`; in CI `az login --federated-token` or "
            "`--identity`), or set AZURE_CLIENT_ID and AZURE_CLIENT_SECRET"
        )
    return {_CLIENT: "", _SECRET: ""}


def leftovers(name: str, image: str, variables: Mapping[str, Any]) -> list[str]:
    """Commands that tell whether anything is left of a bake that was killed."""
    subscription = variables["azure_subscription"]
    return [
        f"az group show --subscription {subscription} --name {name}-bake",
        f"az group delete --subscription {subscription} --name {name}-bake",
        f"az resource show --ids {image} --query properties.provisioningState   # delete it unless Succeeded",
    ]
