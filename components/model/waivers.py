"""Exceptions to what an environment must never be."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from clouds.base.section import Section


class Waiver(Section):
    """An exception to a rule of docs/policy.md, reviewed with the file that it is in."""

    rule: str = Field(
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        examples=["vault-recoverable"],
        json_schema_extra={"patternErrorMessage": "the id of a rule in docs/policy.md"},
    )
    """The rule's id."""
    resource: str = Field(
        pattern=r"^[a-z0-9*?-]*[a-z0-9][a-z0-9*?-]*$",
        examples=["prod-control-plane-vault"],
        json_schema_extra={"patternErrorMessage": "the name of a resource, `*` and `?` as in file names"},
    )
    """The resource's name in the engine, the last part of its URN."""
    why: str = Field(min_length=10, examples=["made anew every week, under the same name"])
    """The reason."""
    until: date = Field(examples=["2027-03-31"])
    """The last day on which it stands, UTC."""
    approved_by: str = Field(min_length=3, examples=["security@example.com"])
    """Who agreed."""
