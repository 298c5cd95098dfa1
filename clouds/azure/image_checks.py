"""Checks of images in Azure's galleries: a site's image version, and the definition in which versions are made."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clouds.azure.images import (
    CONTROLLERS,
    DEFINITION_FEATURES,
    MACHINES_PER_REPLICA,
    AzureMachineImages,
    replicas,
)
from clouds.azure.reader import AzureReader, region_name
from clouds.azure.site import AzureSite
from clouds.azure.versions import GALLERY_VERSION
from clouds.base.doctor import CloudShare, bake, unbaked
from clouds.base.findings import Finding, ok, problem, warning

_NVME_ALONE = re.compile(r"_v([6-9]|\d\d)$")
"""Sizes without a SCSI controller: those of version 6 and later (azure-compute-docs ``enable-nvme-interface.md``)."""


def definition(share: CloudShare[AzureSite], reader: AzureReader, name: str) -> Iterator[Finding]:
    """Check the image definition, before the first bake too, because its features never change: learn.microsoft.com,
    "Gallery Images - Get" (``properties.features``, ``properties.hyperVGeneration``)."""
    site, key = share.places[name].site, share.at("sites", name, "image")
    path = site.image.rpartition("/versions/")[0]
    document = reader.find(path, version=GALLERY_VERSION)
    do = f'az sig image-definition create … --hyper-v-generation V2 --features "{DEFINITION_FEATURES}"'
    if document is None:
        yield problem("Azure has no such image definition", key, do=do)
        return
    properties, what = document["properties"], f"the image definition {path.rpartition('/')[2]}"
    features = {str(each["name"]): str(each["value"]) for each in properties.get("features") or []}
    security = features.get("SecurityType", "")
    types = {demand.machine_type for demand in share.machines_in(name)}
    if properties.get("hyperVGeneration") != "V2":
        yield problem(f"{what} is of generation {properties.get('hyperVGeneration')}, not V2", key, do=do)
    elif security and not security.endswith("Supported"):
        yield problem(f"{what} is for machines of the security type {security} alone", key, do=do)
    elif security:
        yield _not_bakeable(
            share, name, f"{what} is {security}, and takes no version from the machine that bakes it", do
        )
    elif "nvme" in features.get(CONTROLLERS, "").lower():
        yield ok(f"{what} has what machines need: {CONTROLLERS} {features[CONTROLLERS]}", key)
    elif barred := sorted(type_ for type_ in types if _NVME_ALONE.search(type_)):
        yield problem(f"{what} does not name NVMe, so {', '.join(barred)} does not start from its images", key, do=do)
    else:
        yield warning(f"{what} does not name NVMe, so sizes of v6 and later do not start from its images", key, do=do)


def _not_bakeable(share: CloudShare[AzureSite], name: str, what: str, do: str) -> Finding:
    """Return the finding for a definition of which no version can be baked. It is a problem if there is none yet."""
    key = share.at("sites", name, "image")
    if AzureMachineImages().is_placeholder(share.places[name].site):
        return problem(what, key, do=do)
    return warning(what, key, do=f"for the next image: {do}")


def image(share: CloudShare[AzureSite], reader: AzureReader, name: str) -> Iterator[Finding]:
    """Check an image version in a gallery: learn.microsoft.com, "Gallery Image Versions - Get"
    (``properties.provisioningState``, ``properties.publishingProfile.targetRegions``)."""
    site, key = share.places[name].site, share.at("sites", name, "image")
    if AzureMachineImages().is_placeholder(site):
        yield unbaked(share, name)
        return
    document = reader.find(site.image, version=GALLERY_VERSION)
    if document is None:
        yield problem("Azure has no such image version", key, do=bake(share, name))
        return
    properties = document["properties"]
    targets = (properties.get("publishingProfile") or {}).get("targetRegions") or []
    copies = {region_name(str(target["name"])): target.get("regionalReplicaCount") for target in targets}
    version = site.image.rpartition("/")[2]
    if site.region not in copies:
        do = f"copy it there (`az sig image-version update`), or bake one: {bake(share, name)}"
        yield problem(f"the image version {version} is not in {site.region}, only in {', '.join(copies)}", key, do=do)
    elif properties.get("provisioningState") != "Succeeded":
        state = properties.get("provisioningState")
        yield warning(f"the image version {version} is {state}, not Succeeded", key, do="wait until it is")
    elif (copies[site.region] or 1) < replicas(share.places[name]):
        needed = replicas(share.places[name])
        yield warning(
            f"the image version {version} has {copies[site.region] or 1} copies in {site.region}, and the pools' "
            f"machines need {needed}: one for each {MACHINES_PER_REPLICA} that are made at once",
            key,
            do=f"az sig image-version update … --target-regions {site.region}={needed}; or {bake(share, name)}",
        )
    else:
        yield ok(f"the image version {version} is in {site.region}", key)
