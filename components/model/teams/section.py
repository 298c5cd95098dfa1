"""Section ``teams`` of the environment file: people who share the cluster, and what each of their teams is
guaranteed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from clouds.base.section import Section
from components.model.identity.section import GroupName

MOST_TEAMS = 256

KindName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        json_schema_extra={"patternErrorMessage": "a kind of capacity, such as `cpu`, `h100` or `h100-spot`"},
    ),
]
"""Name of a kind of capacity."""


class Share(Section):
    """Part of one kind of capacity that a team has. With the smallest, `{}`, it is guaranteed nothing and may borrow.

    Numbers count GPUs. The cores of a machine go with its GPUs: as many for each as its type has.
    """

    gpus: int = Field(default=0, ge=0, le=1_000_000)
    """Number of GPUs that the team is guaranteed. They are its own within minutes, whoever has borrowed them."""
    cores: int | None = Field(default=None, ge=0, le=100_000_000, examples=[512])
    """Number of virtual cores that the team is guaranteed. Left out, those that go with its GPUs."""
    borrow: int | None = Field(default=None, ge=0, le=1_000_000, examples=[64])
    """Most that the team may use beyond, while nobody else wants it: GPUs, or cores of a kind without GPUs. Left out,
    all that is free; 0 for nothing."""
    lend: int | None = Field(default=None, ge=0, le=1_000_000, examples=[8])
    """Most of its guarantee that other teams may use while it does not: GPUs, or cores of a kind without GPUs. Left
    out, all of it; 0 for nothing, so that it never waits for others to end."""


class Team(Section):
    """A team: a namespace of its name, a queue, and the people who may use both."""

    groups: tuple[GroupName, ...] = Field(min_length=1, max_length=64, examples=[["oidc:vision"]])
    """Groups of `identity`'s issuers whose people are the team's."""
    shares: dict[KindName, Share] = Field(min_length=1, max_length=64, examples=[{"cpu": {"cores": 64}}])
    """Kinds of capacity that the team may use, each with its part. A job takes the first in this order that it fits
    into, those without GPUs before all others. A kind is the model of its GPUs, such as `h100`, or `cpu`, with `-spot`
    at the end where the cloud may take machines back; `longhaul validate` names those that there are."""
    priority: int = Field(default=0, ge=0, le=1000)
    """Number by which teams borrow: the higher first, from lower ones that have borrowed as well. A guarantee holds
    whatever the priorities are."""
