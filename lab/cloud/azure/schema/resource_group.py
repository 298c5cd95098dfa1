"""Microsoft.Resources/resourceGroups."""

from __future__ import annotations

import re

from pydantic import Field

from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.ids import GROUP_TYPE
from lab.cloud.azure.schema.base import BodyPart, Located, Put, TypeSpec


class ResourceGroupProperties(BodyPart):
    """Properties of a group; it has none of its own."""


class ResourceGroup(Located):
    """A resource group."""

    properties: ResourceGroupProperties = Field(default_factory=ResourceGroupProperties)


def check(put: Put) -> None:
    """Refuse a name that is longer than 90 characters, ends in a dot, or has characters other than letters, digits and
    ``_ - . ( )`` (learn.microsoft.com, resource-name-rules)."""
    if not re.fullmatch(r"[\w\-.()]{0,89}[\w\-()]", put.id.name):
        raise ArmError(400, "InvalidResourceGroup", f"The resource group name '{put.id.name}' is not valid.")


SPEC = TypeSpec(type=GROUP_TYPE, model=ResourceGroup, check=check)
