"""A pool as documents have it (:mod:`contract.documents.pools`)."""

from __future__ import annotations

from components.model.environment import Environment
from components.model.nodes.labels import pool_labels
from components.model.nodes.taints import pool_taints
from components.model.sites.cloud_names import pool_groups
from contract.documents.pools import DeclaredPool, NodeTaint


def declared_pool(environment: Environment, name: str) -> DeclaredPool:
    """Return a pool that is in a cloud."""
    pool = environment.pools[name]
    return DeclaredPool(
        name=name,
        site=pool.site,
        groups=tuple(group.name for group in pool_groups(environment, name)),
        labels=pool_labels(environment, name),
        taints=tuple(NodeTaint(**taint.model_dump()) for taint in pool_taints(environment, name)),
        max=pool.max,
    )


def declared_pools(environment: Environment) -> tuple[DeclaredPool, ...]:
    """Return every pool, in the file's order."""
    return tuple(declared_pool(environment, name) for name in environment.pools)
