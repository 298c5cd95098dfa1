"""Microsoft.Resources/resourceGroups."""

from __future__ import annotations

import re

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.ids import GROUP_TYPE
from lab.cloud.azure.schema.base import Located, Part, Put, TypeSpec


class Properties(Part):
    """A group has no properties of its own."""


class ResourceGroup(Located):
    """A resource group."""

    properties: Properties = Field(default_factory=Properties)


def check(put: Put) -> None:
    """Names: letters, digits, ``_ - . ( )``, at most 90, not ending in a dot (learn.microsoft.com,
    resource-name-rules)."""
    if not re.fullmatch(r"[\w\-.()]{0,89}[\w\-()]", put.id.name):
        raise ArmError(400, "InvalidResourceGroup", f"The resource group name '{put.id.name}' is not valid.")


SPEC = TypeSpec(type=GROUP_TYPE, model=ResourceGroup, check=check)
