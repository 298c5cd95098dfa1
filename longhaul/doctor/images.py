"""Is the image there that a site's machines boot."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws import session
from clouds.aws.site import AwsSite
from clouds.azure.site import AzureSite
from clouds.base.findings import Finding, ok, problem, warning
from longhaul.doctor.aws import Aws, asked
from longhaul.doctor.azure import Azure, region_name
from longhaul.doctor.subject import Subject
from longhaul.init.images import stands_for_none

GALLERY_VERSION = "2023-07-03"

NONE = ("InvalidAMIID.NotFound", "InvalidAMIID.Unavailable", "InvalidAMIID.Malformed")
"""Codes with which EC2 says that there is no such image (EC2 API, "Error codes")."""


def azure(subject: Subject, client: Azure, name: str, site: AzureSite) -> Iterator[Finding]:
    """A version in a gallery: learn.microsoft.com, "Gallery Image Versions - Get" (``properties.provisioningState``,
    ``properties.publishingProfile.targetRegions``)."""
    key = subject.at("sites", name, "image")
    if stands_for_none(site):
        yield _placeholder(subject, name, key)
        return
    found = client.find(site.image, version=GALLERY_VERSION)
    if found is None:
        yield problem("Azure has no such image version", key, do=_bake(subject, name))
        return
    properties = found["properties"]
    targets = (properties.get("publishingProfile") or {}).get("targetRegions") or []
    regions = [region_name(str(target["name"])) for target in targets]
    version = site.image.rpartition("/")[2]
    if site.region not in regions:
        do = f"copy it there (`az sig image-version update`), or bake one: {_bake(subject, name)}"
        yield problem(f"the image version {version} is not in {site.region}, only in {', '.join(regions)}", key, do=do)
    elif properties.get("provisioningState") != "Succeeded":
        state = properties.get("provisioningState")
        yield warning(f"the image version {version} is {state}, not Succeeded", key, do="wait until it is")
    else:
        yield ok(f"the image version {version} is in {site.region}", key)


def aws(subject: Subject, client: Aws, name: str, site: AwsSite) -> Iterator[Finding]:
    """An AMI of the site's region: EC2's ``DescribeImages`` (``State``)."""
    key = subject.at("sites", name, "image")
    if stands_for_none(site):
        yield _placeholder(subject, name, key)
        return
    ec2 = client.client("ec2", site.region)
    what = f"the image {site.image}"
    with asked(what, needs="ec2:DescribeImages"):
        try:
            with session.asked(what):
                found = ec2.describe_images(ImageIds=[site.image])["Images"]
        except session.AwsError as error:
            if error.code not in NONE:
                raise
            found = []
    if not found:
        yield problem(f"AWS has no image {site.image} in {site.region}", key, do=_bake(subject, name))
    elif found[0].get("State") != "available":
        do = "wait until it is" if found[0].get("State") == "pending" else _bake(subject, name)
        yield problem(f"the image {site.image} is {found[0].get('State')}, not available", key, do=do)
    else:
        yield ok(f"the image {site.image} ({found[0].get('Name', 'without a name')}) is in {site.region}", key)


def _placeholder(subject: Subject, name: str, key: str) -> Finding:
    return problem("no image is baked yet: this id stands for the first", key, do=_bake(subject, name))


def _bake(subject: Subject, name: str) -> str:
    return f"`longhaul image build --env {subject.name} --site {name}` ends with the id to write here"
