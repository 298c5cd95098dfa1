"""Checks of a site in AWS, its pools and its existing resources. They need only the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clouds.aws.partitions import SERVED, partition
from clouds.aws.pool_checks import pool_faults, shared_reservations
from clouds.aws.ranges import LARGEST_BLOCK, LARGEST_RANGE
from clouds.aws.site import AwsSite
from clouds.base.checks import SiteChecks
from clouds.base.faults import Fault
from clouds.base.phrases import suggestion
from clouds.base.place import Place

IMAGINARY = "ami-00000000000"
"""First digits of ids that exist only in examples, in labs, and before an image is baked."""


class AwsSiteChecks(SiteChecks[AwsSite]):
    """Checks of sites in AWS."""

    def network(self, site: AwsSite) -> tuple[str, str] | None:
        """Return the key and the id of the VPC that the site names; None when it names none."""
        named = site.existing.vpc
        return None if named is None else ("vpc", named)

    def faults(self, place: Place[AwsSite], earlier: Sequence[Place[AwsSite]]) -> Iterator[Fault]:
        """Yield a fault if the site's region is in another partition or the site's block is too large for EC2, faults
        of the existing parts that the site names (parts of a VPC without the VPC's id, zones that the site lacks, one
        subnet for two zones), and faults of its pools. Also yield a fault if the site's account differs from an earlier
        site's, because one provider serves all AWS sites."""
        yield from _partition(place.name, place.site)
        yield from _block(place.name, place.site)
        yield from _named(place.name, place.site)
        yield from pool_faults(place)
        yield from shared_reservations(place, earlier)
        yield from _image(place, earlier)
        first = next((other for other in earlier if other.site.account is not None), None)
        if first is not None and place.site.account not in (None, first.site.account):
            wrong = (
                f"{place.site.account} is not {first.site.account}, the account of {first.name}, and an environment "
                "has only one account"
            )
            at, basis = ("sites", place.name, "account"), (("sites", first.name, "account"),)
            yield Fault(at=at, wrong=wrong, write=f'"{first.site.account}"', basis=basis)


def _image(place: Place[AwsSite], earlier: Sequence[Place[AwsSite]]) -> Iterator[Fault]:
    """Yield a fault for an image that a site in another region has: an AMI's id is of one region (docs.aws.amazon.com,
    "Copy an Amazon EC2 AMI")."""
    image, region = place.site.image, place.site.region
    for other in earlier:
        if other.site.image == image and not image.startswith(IMAGINARY) and other.site.region != region:
            wrong = f"{image} is the image of {other.name} too, and an image is in one region"
            basis = (("sites", other.name, "image"), ("sites", other.name, "region"), ("sites", place.name, "region"))
            write = f"its copy in {region}: `longhaul image build --site {place.name}`"
            yield Fault(at=("sites", place.name, "image"), wrong=wrong, write=write, basis=basis)
            return


def _partition(name: str, site: AwsSite) -> Iterator[Fault]:
    other = partition(site.region)
    if other != SERVED:
        wrong = f"{site.region} is in the partition {other}, whose ARNs are others: Longhaul serves {SERVED}"
        yield Fault(at=("sites", name, "region"), wrong=wrong, write=f"a region of the partition {SERVED}")


def _block(name: str, site: AwsSite) -> Iterator[Fault]:
    key, prefix = ("prefix", site.prefix) if site.range is None else ("range", site.range.prefixlen)
    if prefix < LARGEST_BLOCK:
        subnet = prefix + LARGEST_RANGE - LARGEST_BLOCK
        wrong = f"a /{prefix} has a /{subnet} for each zone, and EC2 makes no subnet larger than a /{LARGEST_RANGE}"
        write = f"a /{LARGEST_BLOCK} or a smaller block, and a second site for the rest"
        yield Fault(at=("sites", name, key), wrong=wrong, write=write)


def _named(name: str, site: AwsSite) -> Iterator[Fault]:
    there, at = site.existing, ("sites", name, "existing")
    if there.vpc is None:
        for key in ("internet_gateway", "node_subnets", "vpn_gateway"):
            if getattr(there, key):
                yield Fault(at=(*at, key), wrong="its VPC is not named", write="`vpc` as well")
    first: dict[str, str] = {}
    for zone, named in there.node_subnets.items():
        place = (*at, "node_subnets", zone)
        if zone not in site.zones:
            wrong = f"{zone!r} is not a zone of {name}"
            basis = (("sites", name, "zones"), *(("sites", name, "zones", index) for index in range(len(site.zones))))
            yield Fault(at=place, wrong=wrong, write=suggestion(site.zones, zone), basis=basis)
        earlier = first.setdefault(named.subnet, zone)
        if earlier != zone:
            wrong = f"{named.subnet} is the subnet of zone {earlier} already"
            basis = ((*at, "node_subnets", earlier),)
            yield Fault(at=(*place, "subnet"), wrong=wrong, write="a subnet for each zone", basis=basis)
