"""Finds sites whose GPUs reach other sites by slow links alone."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.throughput import text
from clouds.base.tunnels import Risk
from components.model import Environment
from components.model.network.link_throughput import link_limit, wanted_mbit
from components.model.network.links import links
from contract.reasons.plan import FileReason

GPU_GB = 80
"""Memory that is counted for each GPU, GB: that of an A100 or an H100."""

LONGEST_HOURS = 8
"""Longest time, in hours, in which a link should carry what fills the memory of a site's GPUs once. A run that loads
or saves its state in another site then takes a working day or a night. At 1.25 Gbit/s, it is 56 GPUs."""


def distant_gpus(environment: Environment) -> Iterator[tuple[str, Risk]]:
    """Yield a risk for each site with many GPUs whose fastest link is slow. A link without a known limit is not slow,
    and peering has none. A site with a link whose `bandwidth` is declared has none: somebody has counted."""
    for name in environment.sites:
        joined = [link for link in links(environment) if name in (link.first, link.second)]
        limits = [link_limit(environment, link) for link in joined]
        fastest = max((limit.mbit for limit in limits if limit is not None), default=0)
        if not fastest or None in limits or any(wanted_mbit(environment, link) for link in joined):
            continue
        gpus = _gpus(environment, name)
        hours = gpus * GPU_GB * 8 * 1000 / fastest / 3600
        if hours > LONGEST_HOURS:
            yield name, _risk(name, gpus, fastest, hours)


def _risk(site: str, gpus: int, mbit: int, hours: float) -> Risk:
    return Risk(
        reason=FileReason.GPUS_BEHIND_SLOW_LINKS,
        what=f"{site} has up to {gpus:,} GPUs, and its links carry {text(mbit)} each at most.",
        where=f"sites.{site}",
        why=f"What fills the memory of these GPUs once, at {GPU_GB} GB each, takes {hours:,.0f} hours on a link: as "
        "much as a checkpoint that is read from another site may have.",
        do="Keep data, checkpoints and images in the site. Declare what the work needs of its links (`links`, "
        "`bandwidth`), which `validate` compares with what they carry, or name a circuit of your own "
        "(docs/network.md).",
    )


def _gpus(environment: Environment, site: str) -> int:
    """Return the largest number of GPUs of a site: of its pools at their `max`, and of its hosts."""
    pools = [pool for pool in environment.pools.values() if pool.site == site]
    rented = sum(pool.max * environment.machine_type(pool.machine_type).gpus for pool in pools)
    return rented + sum(host.gpus for host in environment.hosts if host.site == site)
