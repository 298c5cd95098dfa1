"""Checks that the user data of each pool's machines fits into its cloud's limit, as the file is."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault, Location
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.network.address_plan import plan
from components.render import pool_user_data
from components.render.cloud_init import UserDataTooLargeError

AUTHORITIES_BYTES = 1600
"""Size of the certificates of the cluster's authority in user data, bytes: two while one replaces another."""


def user_data_faults(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for the first pool of each site whose user data would be too large. What differs in size between
    files are certificates of depots' authorities, labels and taints."""
    line = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n"
    authorities = line.format("\n".join(["A" * 64] * (AUTHORITIES_BYTES // 65)))
    addresses = plan(environment)
    reported: set[str] = set()
    for name, pool in environment.pools.items():
        site = environment.sites[pool.site]
        try:
            pool_user_data(environment, addresses, name, kubernetes_ca=authorities)
        except UserDataTooLargeError as error:
            if pool.site in reported:
                continue
            reported.add(pool.site)
            has_authority = site.depot is not None and environment.depots.authority is not None
            at: Location = ("depots", "authority") if has_authority else ("pools", name)
            wrong = (
                f"with it, the user data of machines of {name} has {error.size:,} bytes, and {cloud_of(site).title} "
                f"takes {error.limit:,}"
            )
            write = (
                "fewer certificates, or smaller ones (of ECDSA keys)" if has_authority else "fewer labels and taints"
            )
            yield Fault(at=at, wrong=wrong, write=f"{write}: {error.size - error.limit:,} bytes less")
