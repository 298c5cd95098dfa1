"""Declared capacity, as a ConfigMap for ``longhaul capacity``: people who run nothing have no environment
file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ConfigMap

from components.model.nodes.nodes import pool_labels
from components.model.sites.cloud_names import pool_groups
from components.objects.labels import meta
from contract.labels import KIND_LABEL
from contract.objects import CAPACITY_CONFIGMAP, CAPACITY_KEY, SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from components.model import Environment

PART = "capacity"


class Capacity(ComponentResource):
    """The ConfigMap. Nothing in it is secret: names of pools, sites, regions, machine types and groups."""

    def __init__(self, name: str, environment: Environment, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:Capacity", name, None, opts)
        ConfigMap(
            CAPACITY_CONFIGMAP,
            metadata=meta(CAPACITY_CONFIGMAP, part=PART, namespace=SYSTEM_NAMESPACE),
            data={CAPACITY_KEY: json.dumps(declared(environment))},
            opts=ResourceOptions(parent=self),
        )
        self.register_outputs({})


def declared(environment: Environment) -> dict[str, Any]:
    """Return every pool by name."""
    return {
        name: {
            "site": pool.site,
            "region": environment.sites[pool.site].region,
            "kind": pool_labels(environment, name)[KIND_LABEL],
            "machine_type": pool.machine_type,
            "max": pool.max,
            "groups": [group.name for group in pool_groups(environment, name)],
        }
        for name, pool in environment.pools.items()
    }
