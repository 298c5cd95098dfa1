"""Names of Kubernetes' namespaces."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Namespace = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        json_schema_extra={
            "patternErrorMessage": "a namespace's name: lower-case letters, digits and hyphens, at most 63 characters"
        },
    ),
]
"""Name of a namespace (RFC 1123, a label)."""
