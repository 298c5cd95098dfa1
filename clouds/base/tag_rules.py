"""Limits of tags. Beyond them, a cloud refuses a tag, or drops it without an error, in the middle of `longhaul up`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from clouds.base.place import Place, SiteT
from clouds.base.tags import site_tags


@dataclass(frozen=True, kw_only=True)
class _Untagged:
    """An environment without tags of its own."""

    name: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


ZONES_OWN = len(site_tags(_Untagged(), site=""))
"""Number of tags that Longhaul adds to a DNS zone, as to every resource of a site."""

OWN = ZONES_OWN + len(("pool or role", "Name"))
"""Largest number of tags that Longhaul adds to a resource: the tags of every resource, the pool or role, and on AWS the
name."""

MOST, MOST_OF_A_ZONE = 50, 15
"""Largest number of tags of a resource in either cloud, and of a private DNS zone (learn.microsoft.com, "Use tags to
organize your Azure resources", Limitations; docs.aws.amazon.com, "Tag your Amazon EC2 resources", Tag restrictions)."""

VALUE = 256
"""Largest number of characters of a value in either cloud (same pages)."""


@dataclass(frozen=True, kw_only=True)
class TagLimit:
    """Largest number of tags that an environment may declare."""

    count: int
    whose: str = "a resource"
    """Kind of the cloud's resource that allows the fewest tags."""


OF_A_RESOURCE = TagLimit(count=MOST - OWN)


class TagRules(Generic[SiteT]):
    """Tags that a cloud accepts. It accepts all by default."""

    def fault(self, key: str, value: str, places: Sequence[Place[SiteT]]) -> tuple[str, str] | None:
        """Return two phrases when the cloud does not accept a tag: what is wrong, and what to write instead. Return
        None when it accepts the tag. ``places`` holds all sites of the environment in this cloud. The first phrase
        follows the tag's name in a sentence, such as ``has 130 characters``."""
        return None

    def limit(self, places: Sequence[Place[SiteT]]) -> TagLimit | None:
        """Return the largest number of tags that an environment may declare; None when there is no limit."""
        return None
