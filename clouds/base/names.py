"""Names that could become too long."""

from __future__ import annotations

from dataclasses import dataclass

NODE = 52
"""Largest number of characters of a node's name. The common name of its certificate is `system:node:` and that name,
and may have 64 characters (RFC 5280, A.1, ``ub-common-name``)."""


@dataclass(frozen=True, kw_only=True)
class Sized:
    """Name of a resource in a cloud, with its maximum length."""

    what: str
    """Kind of resource, with its article, such as ``a scale set``."""
    name: str
    most: int
    """Largest number of characters."""


@dataclass(frozen=True, kw_only=True)
class Main:
    """Name of one of a site's main resources in its cloud."""

    what: str
    """Kind of resource in words, such as ``resource group``."""
    name: str
    """Its name. For a VPC of AWS, this is the tag ``Name``, or the id when the VPC exists already."""
    existing: bool = False
    """True when the resource exists already."""
