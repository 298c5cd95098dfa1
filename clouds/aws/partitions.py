"""Partitions of AWS: groups of regions with accounts, service names and ARNs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SERVED: Final = "aws"
"""Partition in which environments can be: policies, trust documents and nodes' proofs of identity name its ARNs
(``arn:aws:``) and its services' names (``amazonaws.com``)."""

_PREFIXES: Final[Mapping[str, str]] = {
    "cn-": "aws-cn",
    "us-gov-": "aws-us-gov",
    "us-iso-": "aws-iso",
    "us-isob-": "aws-iso-b",
    "eu-isoe-": "aws-iso-e",
    "us-isof-": "aws-iso-f",
    "eusc-": "aws-eusc",
}
"""Partitions by the beginning of their regions' names (botocore ``data/partitions.json``, ``regionRegex``)."""


def partition(region: str) -> str:
    """Return the partition of a region."""
    return next((name for prefix, name in _PREFIXES.items() if region.startswith(prefix)), SERVED)
