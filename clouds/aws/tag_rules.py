"""Limits of tags in AWS."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from clouds.aws.site import AwsSite
from clouds.base.place import Place
from clouds.base.tag_rules import OF_A_RESOURCE, TagLimit, TagRules

NAME = 128
"""Largest number of characters of a tag's name in AWS ("Tag restrictions")."""

MARKS = "_.:/=+-@"
"""Characters that names and values in AWS may contain besides letters, digits and spaces of Unicode
(docs.aws.amazon.com, IAM API, ``Tag``). IAM's rule applies because roles have tags too; EC2 would accept more
characters."""

RESERVED = "aws:"
"""Prefix that a tag's name in AWS must not have, in upper or lower case ("Tag restrictions")."""


class AwsTagRules(TagRules[AwsSite]):
    """Tags that AWS accepts."""

    def fault(self, key: str, value: str, places: Sequence[Place[AwsSite]]) -> tuple[str, str] | None:
        """Return what is wrong with a tag's name or value, and what to write; None when nothing is."""
        if len(key) > NAME:
            return f"has {len(key)} characters", f"a name of at most {NAME}"
        if key.lower().startswith(RESERVED):
            return "begins as AWS's own tags do", f"a name that does not begin with {RESERVED}"
        for what, text in (("a name", key), ("a value", value)):
            if not all(map(_takes, text)):
                return f"has {what} that AWS does not accept", f"{what} of letters, digits, spaces and {MARKS}"
        return None

    def limit(self, places: Sequence[Place[AwsSite]]) -> TagLimit:
        """Return the limit of a resource."""
        return OF_A_RESOURCE


def _takes(character: str) -> bool:
    """Return whether AWS accepts a character: letters, separators and numbers by their Unicode category, as in AWS's
    pattern."""
    return character in MARKS or unicodedata.category(character)[0] in "LZN"
