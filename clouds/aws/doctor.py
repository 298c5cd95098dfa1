"""Checks that AWS has and allows everything that an environment needs, before anything is made there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from clouds.aws import session
from clouds.aws.images import AwsMachineImages
from clouds.aws.named_parts import named_parts
from clouds.aws.offers import offers
from clouds.aws.parts import AwsSiteParts
from clouds.aws.permissions import permissions
from clouds.aws.quotas import quotas
from clouds.aws.reader import AwsReader, endpoints, reader_errors, tagged, vpc_blocks
from clouds.aws.site import AwsSite
from clouds.aws.volume_keys import volume_keys
from clouds.base.doctor import CloudDoctor, CloudShare, DoctorQuestion, bake, compared, unbaked
from clouds.base.findings import Finding, ok, problem, warning
from clouds.base.local_machine import clock

SERVICES = ("sts", "ec2", "autoscaling", "iam")
"""AWS services that an environment needs in each region."""

NONE = ("InvalidAMIID.NotFound", "InvalidAMIID.Unavailable", "InvalidAMIID.Malformed")
"""Error codes with which EC2 refuses an image's id (EC2 API, "Error codes"): the image does not exist, the image cannot
be used, or the id is malformed. The doctor reports each of the three as a missing image."""


class AwsCloudDoctor(CloudDoctor[AwsSite]):
    """Checks that AWS has and allows what an environment needs."""

    def services(self, share: CloudShare[AwsSite]) -> dict[str, tuple[str, ...]]:
        """Return the URL of each service that an environment needs, with the names of the sites that need the
        service."""
        sites_of: dict[str, tuple[str, ...]] = {}
        regions = share.regions()
        for region, urls in endpoints(SERVICES, regions).items():
            for url in urls:
                sites_of[url] = (*sites_of.get(url, ()), *regions[region])
        return sites_of

    def questions(self, share: CloudShare[AwsSite], reader: AwsReader | None = None) -> Iterator[DoctorQuestion]:
        """Yield the questions for this machine's clock, for the account, for each region and for each site."""
        reader = reader or AwsReader()
        regions, everywhere = share.regions(), share.sites(*share.places)
        yield DoctorQuestion(name="clock", where=("this machine",), run=partial(_clock, share, next(iter(regions))))
        yield DoctorQuestion(name="credentials", where=everywhere, run=partial(credentials, share, reader))
        yield DoctorQuestion(name="permissions", where=everywhere, run=partial(permissions, share, reader))
        for region, names in regions.items():
            where = share.sites(*names)
            yield DoctorQuestion(name="quotas", where=where, run=partial(quotas, share, reader, region))
            yield DoctorQuestion(name="addresses", where=where, run=partial(addresses, share, reader, region))
        for name, place in share.places.items():
            where = share.sites(name)
            yield DoctorQuestion(name="machine-types", where=where, run=partial(offers, share, reader, name))
            yield DoctorQuestion(name="images", where=where, run=partial(image, share, reader, name))
            if place.pools:
                yield DoctorQuestion(name="images", where=where, run=partial(volume_keys, share, reader, name))
            if AwsSiteParts().existing_parts(place.site):
                yield DoctorQuestion(name="existing", where=where, run=partial(named_parts, share, reader, name))


def _clock(share: CloudShare[AwsSite], region: str) -> Iterator[Finding]:
    ((url,),) = endpoints(("sts",), [region]).values()
    yield from clock(share.here, url)


def credentials(share: CloudShare[AwsSite], reader: AwsReader) -> Iterator[Finding]:
    """Report the account of the credentials. It is a problem if a site declares another account, and a warning if the
    caller is the account's root user."""
    caller = reader.caller(next(iter(share.regions())))
    sites = share.sites(*share.places)
    accounts = {name: place.site.account for name, place in share.places.items()}
    declared = {name: account for name, account in accounts.items() if account is not None}
    for name, account in declared.items():
        if account != caller.account:
            wrong = f"AWS: the credentials are of the account {caller.account}, the file says {account}"
            yield problem(wrong, share.at("sites", name, "account"), do="sign in to that account, or correct the file")
    if caller.arn.endswith(":root"):
        do = "sign in as a role that may do what docs/getting-started.md lists, and nothing else"
        yield warning(f"AWS: the account {caller.account}, as its root, who may do everything", *sites, do=do)
    elif set(declared.values()) <= {caller.account}:
        see = "" if declared else "; check that it is the intended one"
        yield ok(f"AWS: the account {caller.account}, as {caller.arn}{see}", *sites)


def addresses(share: CloudShare[AwsSite], reader: AwsReader, region: str) -> Iterator[Finding]:
    """Report the VPCs of a region whose ranges overlap the address plan, by EC2's ``DescribeVpcs``
    (``CidrBlockAssociationSet``). VPCs that the environment has made or names are left out."""
    others: list[tuple[str, list[str]]] = []
    named = {place.site.existing.vpc for place in share.places.values()}
    ec2 = reader.client("ec2", region)
    with reader_errors("the existing VPCs", needs="ec2:DescribeVpcs"):
        for page in ec2.get_paginator("describe_vpcs").paginate():
            for vpc in page["Vpcs"]:
                if not tagged(vpc, share.environment) and vpc["VpcId"] not in named:
                    words = "the default VPC" if vpc.get("IsDefault") else "the VPC"
                    others.append((f"{words} {vpc['VpcId']} in {region}", vpc_blocks(vpc)))
    yield from compared(share, others, f"VPCs in {region}")


def image(share: CloudShare[AwsSite], reader: AwsReader, name: str) -> Iterator[Finding]:
    """Check that a site's AMI is available in the site's region, by EC2's ``DescribeImages`` (``State``)."""
    site, key = share.places[name].site, share.at("sites", name, "image")
    if AwsMachineImages().is_placeholder(site):
        yield unbaked(share, name)
        return
    ec2 = reader.client("ec2", site.region)
    what = f"the image {site.image}"
    with reader_errors(what, needs="ec2:DescribeImages"):
        try:
            with session.aws_errors(what):
                images = ec2.describe_images(ImageIds=[site.image])["Images"]
        except session.AwsError as error:
            if error.code not in NONE:
                raise
            images = []
    if not images:
        yield problem(f"AWS has no image {site.image} in {site.region}", key, do=bake(share, name))
    elif images[0].get("State") != "available":
        do = "wait until it is" if images[0].get("State") == "pending" else bake(share, name)
        yield problem(f"the image {site.image} is {images[0].get('State')}, not available", key, do=do)
    else:
        yield ok(f"the image {site.image} ({images[0].get('Name', 'without a name')}) is in {site.region}", key)
