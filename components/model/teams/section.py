"""Section ``teams`` of the environment file: people who share the cluster, and the guarantees of each of their
teams."""

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
    """A team's share of one kind of capacity. With an empty share, `{}`, the team is guaranteed nothing and may borrow.

    For a kind with GPUs, the numbers count GPUs, and each GPU comes with its part of the machine type's cores.
    """

    gpus: int = Field(default=0, ge=0, le=1_000_000)
    """Number of GPUs that the team is guaranteed. The team gets them back within minutes, whoever has borrowed them."""
    cores: int | None = Field(default=None, ge=0, le=100_000_000, examples=[512])
    """Number of virtual cores that the team is guaranteed. If left out, the cores that go with its GPUs."""
    borrow: int | None = Field(default=None, ge=0, le=1_000_000, examples=[64])
    """Largest amount that the team may use beyond its guarantee while nobody else needs it: GPUs, or cores of a kind
    without GPUs. If left out, all that is free; 0 for nothing."""
    lend: int | None = Field(default=None, ge=0, le=1_000_000, examples=[8])
    """Largest part of its guarantee that other teams may use while this team does not: GPUs, or cores of a kind without
    GPUs. If left out, all of it. With 0, nothing is lent, so the team never waits for other teams' jobs to end."""


class Team(Section):
    """A team: a namespace of its name, a queue, and the people who may use both."""

    groups: tuple[GroupName, ...] = Field(min_length=1, max_length=64, examples=[["oidc:visual"]])
    """Groups, of the issuers in `identity`, whose people are in the team."""
    shares: dict[KindName, Share] = Field(min_length=1, max_length=64, examples=[{"cpu": {"cores": 64}}])
    """Kinds of capacity that the team may use, each with its share. A job uses the first kind, in this order, into
    which it fits; kinds without GPUs come before all others. A kind is the model of its GPUs, such as `h100`, or `cpu`,
    with the suffix `-spot` when the cloud may take its machines back; `longhaul validate` lists them."""
    priority: int = Field(default=0, ge=0, le=1000)
    """Priority in borrowing: the team with the higher number borrows first, and may take over what teams with a lower
    number have borrowed. A guarantee holds whatever the priorities are."""
