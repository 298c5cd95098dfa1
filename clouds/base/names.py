"""Names that could become too long."""

from __future__ import annotations

from dataclasses import dataclass

NODE = 52
"""Characters of a node: its certificate's common name is `system:node:` and that, and has 64 (RFC 5280, A.1,
``ub-common-name``)."""


@dataclass(frozen=True, kw_only=True)
class Sized:
    """A name that something in a cloud gets."""

    what: str
    """Kind of thing, with its article."""
    name: str
    most: int
    """Characters that it may have."""


@dataclass(frozen=True, kw_only=True)
class Main:
    """One of the main things of a site, as its cloud calls it."""

    what: str
    """In words, such as ``resource group``."""
    name: str
    """Of an AWS network the tag ``Name``, or its id where it is there already."""
    existing: bool = False
    """Whether it is there already."""
