"""RDMA networks of an environment's nodes: which nodes have one, and how objects select those nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clouds.base.faults import Caution
from clouds.base.machine_types import Rdma
from clouds.base.phrases import word_list
from clouds.registry import cloud_of
from contract.reasons.plan import FileReason

if TYPE_CHECKING:
    from components.model.environment import Environment
    from components.model.hosts.section import Host

SHARED = (Rdma.INFINIBAND, Rdma.ROCE)
"""Kinds of networks whose adapters one device plugin shares among all pods of a node that request them."""

EFA_RESOURCE = "vpc.amazonaws.com/efa"
"""Resource by which pods request Elastic Fabric Adapters."""
EFA_HUGE_PAGES = 5128
"""Number of huge pages of 2 MiB on machines with Elastic Fabric Adapters: as many as AWS's driver package reserves
(docs.aws.amazon.com, EKS, "Run machine learning training on Amazon EKS with Elastic Fabric Adapter"). AWS's script that
checks an EFA installation calls them enough for current instance types."""

AMAZONS_REGISTRY = re.compile(r"\d{12}\.dkr\.ecr(-fips)?\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/")
"""Beginning of the names of images in registries that no one reads without credentials (docs.aws.amazon.com, "Private
registry authentication in Amazon ECR")."""


def shared_resource(kind: Rdma) -> str:
    """Return the resource by which pods request shared adapters."""
    return f"rdma/{kind}"


def pool_rdma(environment: Environment, pool_name: str) -> Rdma | None:
    """Return the RDMA network of a pool's machines, if any."""
    pool = environment.pools[pool_name]
    return cloud_of(environment.sites[pool.site]).machine_types.rdma(pool)


def huge_pages_2mib(environment: Environment, pool_name: str) -> int:
    """Return the number of huge pages of 2 MiB that the network adapters of a pool's machines need."""
    return EFA_HUGE_PAGES if pool_rdma(environment, pool_name) is Rdma.EFA else 0


def host_rdma(host: Host) -> Rdma | None:
    """Return the RDMA network of a host, if any, according to the hosts file."""
    return None if host.rdma is None else Rdma(host.rdma)


def pools_with(environment: Environment, kind: Rdma) -> tuple[str, ...]:
    """Return the pools whose machines have an RDMA network of this kind, sorted."""
    return tuple(sorted(name for name in environment.pools if pool_rdma(environment, name) is kind))


def hosts_with(environment: Environment, kind: Rdma) -> tuple[Host, ...]:
    """Return the hosts that have an RDMA network of this kind."""
    return tuple(host for host in environment.hosts if host_rdma(host) is kind)


def rdma_kinds(environment: Environment) -> tuple[Rdma, ...]:
    """Return every kind of RDMA network that a node of the environment has."""
    return tuple(kind for kind in Rdma if pools_with(environment, kind) or hosts_with(environment, kind))


def has_shared_rdma(environment: Environment) -> bool:
    """Return whether a node of the environment has InfiniBand or RoCE."""
    return any(kind in SHARED for kind in rdma_kinds(environment))


def plugin_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield a caution if nodes would pull the plugin for Elastic Fabric Adapters from a registry that wants
    credentials, which they have not. A depot's builder has them."""
    image = environment.images.efa_device_plugin
    if image is None or not AMAZONS_REGISTRY.match(image):
        return
    sites = environment.sites
    pools = [name for name in pools_with(environment, Rdma.EFA) if sites[environment.pools[name].site].depot is None]
    if pools:
        yield Caution(
            reason=FileReason.IMAGE_NEEDS_CREDENTIALS,
            at=("images", "efa_device_plugin"),
            basis=(("pools",), ("sites",)),
            wrong=f"nodes of {word_list(pools)} have no credentials for this registry, so their pods get no adapters",
            write="a copy in a registry that nodes read without credentials, or a `depot` at the pools' sites "
            "(docs/gpu-pods.md)",
        )
