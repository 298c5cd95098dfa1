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
