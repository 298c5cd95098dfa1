"""Resource types that the lab's Azure has, each described by a file of ``schema``."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from lab.cloud.azure import schema
from lab.cloud.azure.errors import ArmError
from lab.cloud.azure.schema.base import TypeSpec


def known_types() -> dict[str, TypeSpec]:
    """Return every type by its name in lower case."""
    modules = [import_module(module.name) for module in iter_modules(schema.__path__, f"{schema.__name__}.")]
    specs = [spec for module in modules for spec in getattr(module, "SPECS", (getattr(module, "SPEC", None),)) if spec]
    return {spec.type.lower(): spec for spec in specs}


def spec_of(types: dict[str, TypeSpec], type: str) -> TypeSpec:
    """Return the description of a type.

    Raises:
        ArmError: 400 when the lab does not have the type.
    """
    spec = types.get(type.lower())
    if spec is None:
        raise ArmError(
            400,
            "InvalidResourceType",
            f"The lab's Azure does not have the resource type '{type}'. It has: "
            f"{', '.join(sorted(known.type for known in types.values()))}.",
        )
    return spec
