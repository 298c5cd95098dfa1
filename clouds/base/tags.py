"""Tags that clouds would refuse, or leave out without a word, half-way through an `up`."""

from __future__ import annotations

from dataclasses import dataclass

OWN = 4
"""Tags that Longhaul adds at most: environment, site, pool or role, and on AWS the name."""

ZONES_OWN = 2
"""Tags that it adds to a DNS zone: environment and site."""

MOST, MOST_OF_A_ZONE = 50, 15
"""Tags of a resource in either cloud, and of a private DNS zone (learn.microsoft.com, "Use tags to organize your Azure
resources", Limitations; docs.aws.amazon.com, "Tag your Amazon EC2 resources", Tag restrictions)."""

VALUE = 256
"""Characters of a value in either cloud (same pages)."""


@dataclass(frozen=True, kw_only=True)
class Most:
    """How many tags an environment may declare."""

    count: int
    whose: str = "a resource"
    """Whatever of the cloud's has the fewest."""


OF_A_RESOURCE = Most(count=MOST - OWN)
