"""Declared capacity, as a ConfigMap for ``longhaul capacity``: people who run no infrastructure have no environment
file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap

from components.model.pools.declared import declared_pools
from components.objects.object_metadata import meta
from contract.documents.pools import to_text
from contract.object_names import CAPACITY_CONFIGMAP, CAPACITY_KEY, SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from components.model import Environment

PART = "capacity"


class Capacity(ComponentResource):
    """The ConfigMap. It contains no secret: names of pools, sites and groups, and the labels of their Nodes."""

    def __init__(self, name: str, environment: Environment, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Capacity", name, None, opts)
        ConfigMap(
            CAPACITY_CONFIGMAP,
            metadata=meta(CAPACITY_CONFIGMAP, part=PART, namespace=SYSTEM_NAMESPACE),
            data={CAPACITY_KEY: to_text(declared_pools(environment))},
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({})
