"""A site as every cloud has it: the place where machines stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from clouds.base.section import Range, Section

if TYPE_CHECKING:
    from clouds.base.gateway import Gateway

ZONES = 4
"""Availability zones a site may have: the address plan gives each a quarter of the node and pod ranges."""


class SiteBase(Section):
    """What every site has."""

    if TYPE_CHECKING:  # A cloud's own type has each as a field or a property; declared here, pydantic would order it.

        @property
        def kind(self) -> str:
            """Its cloud, by the word that files have for it."""

        @property
        def region(self) -> str:
            """The cloud's name of its region; empty for racks."""

        @property
        def image(self) -> str:
            """The cloud's name of its node image; empty for racks."""

        @property
        def gateways(self) -> tuple[Gateway, ...]:
            """Machines of the operator's own that end its tunnels; none in clouds, which have gateways for that."""

        @property
        def zones(self) -> tuple[str, ...]:
            """Names of its availability zones; none in racks."""

    range: Range | None = Field(default=None, examples=["10.64.0.0/16"])
    """The site's block, /8 to /20. Left out, the next free block of `prefix` bits out of the supernet, in the file's
    order: append new sites at the end, or write the range, so that no site's block moves."""
    prefix: int = Field(default=16, ge=8, le=20)
    """Size of the site's block when `range` is left out: /16 holds 8,192 node addresses and 2,048 nodes' pods."""
    depot: str | None = Field(
        default=None,
        pattern=r"^https?://[a-z0-9.-]+(:\d+)?$",
        examples=["http://depot.example.internal"],
        json_schema_extra={"patternErrorMessage": "an http or https address without a path"},
    )
    """Where the site's machines get binaries, Debian packages and container images; left out, where their makers
    publish them. Machines believe it: over plain `http`, everyone on the way to it is root on them."""
