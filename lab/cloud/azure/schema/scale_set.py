"""Microsoft.Compute/virtualMachineScaleSets: lists of them are always empty, and none can be made."""

from __future__ import annotations

from pydantic import ConfigDict

from lab.cloud.azure.errors import unsupported
from lab.cloud.azure.schema.base import Body, Put, TypeSpec

TYPE = "Microsoft.Compute/virtualMachineScaleSets"


class ScaleSet(Body):
    """Body of a scale set; the request is refused as a whole."""

    model_config = ConfigDict(extra="allow")


def check(put: Put) -> None:
    """Refuse every scale set."""
    raise unsupported(
        f"{put.id.name}: the lab has no scale sets. Its Azure sites hold control planes; put pools on an AWS site."
    )


SPECS = tuple(
    TypeSpec(type=type, model=ScaleSet, check=check, parent=parent)
    for type, parent in ((TYPE, None), (f"{TYPE}/virtualMachines", TYPE), (f"{TYPE}/networkInterfaces", TYPE))
)
