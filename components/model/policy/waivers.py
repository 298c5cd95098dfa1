"""Exceptions to the policies."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from clouds.base.section import Section


class Waiver(Section):
    """An exception to a rule of docs/policy.md. It is reviewed together with the file that contains it."""

    rule: str = Field(
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        examples=["vault-recoverable"],
        json_schema_extra={"patternErrorMessage": "the id of a rule in docs/policy.md"},
    )
    """Id of the rule."""
    resource: str = Field(
        pattern=r"^[a-z0-9*?-]*[a-z0-9][a-z0-9*?-]*$",
        examples=["prod-control-plane-vault"],
        json_schema_extra={"patternErrorMessage": "the name of a resource, `*` and `?` as in file names"},
    )
    """Name of the resource in the engine, which is the last part of its URN. In it, `*` and `?` match as in file
    names."""
    why: str = Field(min_length=10, examples=["made anew every week, under the same name"])
    """Reason for the exception."""
    until: date = Field(examples=["2027-03-31"])
    """Last day on which the waiver is valid, in UTC."""
    approved_by: str = Field(min_length=3, examples=["security@example.com"])
    """Person or team that approved the waiver."""
