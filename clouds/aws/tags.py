"""Tags that AWS takes."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from clouds.aws.site import AwsSite
from clouds.base.place import Place
from clouds.base.tags import OF_A_RESOURCE, Most

NAME = 128
"""Characters of a name in AWS ("Tag restrictions")."""

MARKS = "_.:/=+-@"
"""What names and values in AWS may hold besides letters, digits and spaces of Unicode (docs.aws.amazon.com, IAM API,
``Tag``: roles have them too, and EC2 takes more)."""

RESERVED = "aws:"
"""How a name in AWS cannot begin, in either case ("Tag restrictions")."""


def fault(key: str, value: str, _places: Sequence[Place[AwsSite]], /) -> tuple[str, str] | None:
    """What is wrong with a name or its value, and what to write."""
    if len(key) > NAME:
        return f"has {len(key)} characters", f"a name of at most {NAME}"
    if key.lower().startswith(RESERVED):
        return "begins as AWS's own tags do", f"a name that does not begin with {RESERVED}"
    for what, text in (("a name", key), ("a value", value)):
        if not all(map(_takes, text)):
            return f"has {what} that AWS does not take", f"{what} of letters, digits, spaces and {MARKS}"
    return None


def most(_places: Sequence[Place[AwsSite]], /) -> Most:
    """As many as a resource has."""
    return OF_A_RESOURCE


def _takes(character: str) -> bool:
    """Letters, separators and numbers by their category, as AWS's pattern has them."""
    return character in MARKS or unicodedata.category(character)[0] in "LZN"
