"""Names of resources' types for people."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "Founded": "EtcdBootstrap",
    "Held": "ImmutableSettings",
    "Secret": "VaultSecret",
    "Setting": "VaultSetting",
}
"""Names in place of types of the program's own that say little. The types themselves are in states, and stay."""
_PREFIX = "pulumi-python:dynamic/longhaul:"


def type_name(token: str) -> str:
    """Return the name of a type such as ``azure-native:network:Subnet``: its last part, or a clearer name."""
    name = token.rpartition(":")[2]
    return NAMES.get(name, name) if token.startswith(_PREFIX) else name
