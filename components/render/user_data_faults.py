"""Checks that the user data of each machine fits into its cloud's limit, as the file is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clouds.base.faults import Fault, Location
from clouds.registry import cloud_of
from components.model.control_plane.machines import control_machines
from components.model.environment import Environment
from components.model.network.address_plan import plan
from components.render import pool_user_data, user_data
from components.render.cloud_init import UserDataTooLargeError

AUTHORITIES_BYTES = 1600
"""Size of the certificates of the cluster's authority in user data, bytes: two while one replaces another."""


@dataclass(frozen=True, kw_only=True)
class _TooLarge:
    """User data that is too large."""

    of: str
    """Machines that would get it."""
    site: str
    at: Location
    """Part of the file that makes it large."""
    write: str
    error: UserDataTooLargeError


def user_data_faults(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for the control plane's first machine, and for the first pool of each site, whose user data would
    be too large. What differs in size between files are namespaces in the settings of API servers, and certificates of
    depots' authorities, labels and taints in those of pools' machines."""
    reported: set[tuple[str, Location]] = set()
    for large in (*_control_plane(environment), *_pools(environment)):
        if (large.site, large.at[:1]) in reported:
            continue
        reported.add((large.site, large.at[:1]))
        size, limit = large.error.size, large.error.limit
        title = cloud_of(environment.sites[large.site]).title
        wrong = f"with it, the user data of {large.of} has {size:,} bytes, and {title} takes {limit:,}"
        yield Fault(at=large.at, wrong=wrong, write=f"{large.write}: {size - limit:,} bytes less")


def _control_plane(environment: Environment) -> Iterator[_TooLarge]:
    addresses = plan(environment)
    for machine in control_machines(environment, addresses):
        try:
            user_data(environment, addresses, machine)
        except UserDataTooLargeError as error:
            at = ("pod_security", "exempt_namespaces")
            write = "fewer namespaces, or their label in place of the entry (docs/security.md)"
            yield _TooLarge(of=machine.name, site=machine.site, at=at, write=write, error=error)


def _pools(environment: Environment) -> Iterator[_TooLarge]:
    line = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"
    authorities = line.format("\n".join(["A" * 64] * (AUTHORITIES_BYTES // 65)))
    addresses = plan(environment)
    for name, pool in environment.pools.items():
        try:
            pool_user_data(environment, addresses, name, kubernetes_ca=authorities)
        except UserDataTooLargeError as error:
            certificates = environment.sites[pool.site].depot is not None and environment.depots.authority is not None
            yield _TooLarge(
                of=f"machines of {name}",
                site=pool.site,
                at=("depots", "authority") if certificates else ("pools", name),
                write="fewer certificates, or smaller ones (of ECDSA keys)"
                if certificates
                else "fewer labels and taints",
                error=error,
            )
