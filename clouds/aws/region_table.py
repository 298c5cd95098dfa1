"""Writes ``regions.json``: AWS's regions, and the machine types that each sells.

``python -m clouds.aws.region_table`` reads the copies that installed libraries hold: botocore's endpoints (regions of
the partition that environments can be in) and moto's answers of EC2's ``DescribeInstanceTypeOfferings``. Newer
answers take precedence, one file for each region::

    aws ec2 describe-instance-type-offerings --location-type availability-zone --region R --output json >R.json
    python -m clouds.aws.region_table R.json …
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from clouds.aws.partitions import SERVED
from clouds.base.regions import Regions, write_regions

_ZONE = re.compile(r"(.+-\d)([a-z])")
_OFFERINGS = "ec2/resources/instance_type_offerings/availability-zone"


def table(answers: list[Path], *, day: str) -> Regions:
    """Return the table from the libraries' copies and from newer ``answers`` of EC2."""
    zones: dict[str, set[str]] = {region: set() for region in _regions()}
    sold: defaultdict[str, set[str]] = defaultdict(set)
    newer = [(path.stem, json.loads(path.read_text(encoding="utf-8"))["InstanceTypeOfferings"]) for path in answers]
    copies = [(path.name.split(".")[0], json.loads(gzip.decompress(path.read_bytes()))) for path in _copies()]
    fresh = dict(newer)
    for region, offers in [*((name, listing) for name, listing in copies if name not in fresh), *newer]:
        zones[region] = {offer["Location"] for offer in offers if _ZONE.fullmatch(offer["Location"])}
        for offer in offers:
            sold[offer["InstanceType"]].add(region)
    source = f"botocore {version('botocore')}, moto {version('moto')} (DescribeInstanceTypeOfferings)"
    return Regions(
        day=day,
        source=f"{source}, and EC2 itself for {', '.join(sorted(fresh))}" if fresh else source,
        regions={region: "".join(sorted(zone[-1] for zone in names)) for region, names in zones.items()},
        types={name: tuple(sorted(regions)) for name, regions in sold.items()},
    )


def _regions() -> Iterator[str]:
    from botocore.session import Session

    yield from Session().get_available_regions("ec2", partition_name=SERVED)


def _copies() -> list[Path]:
    spec = find_spec("moto")
    if spec is None or spec.origin is None:
        raise SystemExit("moto is not installed: name EC2's own answers")
    return sorted((Path(spec.origin).parent / _OFFERINGS).glob("*.json.gz"))


if __name__ == "__main__":
    write_regions(__file__, table([Path(name) for name in sys.argv[1:]], day=datetime.now(UTC).date().isoformat()))
