"""Taints with which nodes register: those of their pool, and one that stays until their GPUs are checked."""

from __future__ import annotations

from clouds.base.pool_section import Taint
from components.model.environment import Environment
from components.model.nodes.host_nodes import HOSTS
from contract.taints import PREFLIGHT_EFFECT, PREFLIGHT_TAINT, PREFLIGHT_VALUE


def pool_taints(environment: Environment, pool_name: str) -> tuple[Taint, ...]:
    """Return the taints with which a pool's nodes register; hosts have none."""
    return () if pool_name == HOSTS else environment.pools[pool_name].taints


def gpu_taints(gpus: int) -> tuple[Taint, ...]:
    """Return the taints that keep pods from a node with this number of GPUs until the GPUs are known to be healthy."""
    return (Taint(key=PREFLIGHT_TAINT, value=PREFLIGHT_VALUE, effect=PREFLIGHT_EFFECT),) if gpus else ()
