"""Functions of azure-native that look a resource up: ``getX`` for every resource X that the lab's Azure has."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from lab.providers.client import ResourceManagerClient, ResourceManagerError
from lab.providers.shapes import to_outputs
from lab.providers.tokens import Token

SUBSCRIPTION = ("ARM_SUBSCRIPTION_ID", "AZURE_SUBSCRIPTION_ID")
"""Environment variables; one of them is set when there is a cloud to ask."""


def lookup_of(tokens: Mapping[str, Token], function: str) -> Token | None:
    """Return the resource type that ``function`` looks up; None when it looks up no known type."""
    match = re.fullmatch(r"(azure-native:\w+):get(\w+)", function)
    return tokens.get(f"{match[1]}:{match[2]}") if match else None


def look_up(token: Token, arguments: dict[str, Any], client: ResourceManagerClient, *, preview: bool) -> dict[str, Any]:
    """Return the values of a resource for the SDK; empty in a preview without a cloud.

    Raises:
        ResourceManagerError: the resource does not exist, the cloud refuses, or the arguments are not those in the id.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    if given.keys() != set(token.parameters):
        wanted = ", ".join(token.parameters)
        raise ResourceManagerError(
            0, "InvalidArguments", f"the lab looks up {token.type} by {wanted}, not by {', '.join(given)}"
        )
    if preview and not any(os.environ.get(name) for name in SUBSCRIPTION):
        return {}
    resource_id = token.id(given, subscription=client.subscription)
    document = client.get(resource_id, api_version=token.api_version)
    if document is None:
        raise ResourceManagerError(404, "ResourceNotFound", f"{resource_id} was not found")
    return to_outputs(token, document)
