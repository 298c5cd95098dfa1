"""Doubts about a file that is valid: what it names may not be there, or nothing acts on it yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clouds.base.caution import Caution
from clouds.base.pool import Pool
from clouds.base.words import listed
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.host_keys import pinned
from components.model.places import place_of

_NAMED = 3
"""Largest number of pools or machines that are named one by one."""


def cautions(environment: Environment) -> Iterator[Caution]:
    """Yield the doubts about a checked environment, by section of the file."""
    for name, site in environment.sites.items():
        cloud = cloud_of(site)
        yield from cloud.promises.cautions(place_of(environment, name))
        if cloud.images.is_placeholder(site):
            yield Caution(
                name="placeholder-image",
                at=("sites", name, "image"),
                site=name,
                wrong=f"{site.image} is the placeholder of an image that is still to be baked: no machine boots it",
                write="the id that `longhaul image build` prints",
                never_safe=True,
            )
    yield from _idle_keys(environment)
    yield from _missing_keys(environment)


def _idle_keys(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each key of pools that nothing acts on yet. Files have them, so they stay valid."""
    for key in ("priority", "fallbacks"):
        default = Pool.model_fields[key].default
        pools = [name for name, pool in environment.pools.items() if getattr(pool, key) != default]
        if pools:
            yield Caution(
                name=f"idle-{key}",
                at=("pools", pools[0], key),
                wrong=f"nothing acts on it yet, in {_few(pools)}: each pool is filled by itself",
                write="keep it for the release that does, or leave it out",
            )


def _missing_keys(environment: Environment) -> Iterator[Caution]:
    """Yield one caution for all gateways, and one for all hosts, without a pinned key."""
    missing = [at for at, key in pinned(environment) if key is None]
    for kind in ("sites", "hosts"):
        places = [at for at in missing if at[0] == kind]
        if places:
            names = [_name(environment, at) for at in places]
            yield Caution(
                name=f"unpinned-{kind}",
                at=places[0],
                wrong=f"is missing for {_few(names)}: Ansible does not connect without it",
                write="what `ssh-keyscan` prints of each machine, compared with what its console shows",
            )


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return listed([*names[:_NAMED], f"{more} more"] if more > 1 else names)


def _name(environment: Environment, at: tuple[str | int, ...]) -> str:
    if at[0] == "hosts":
        return environment.hosts[int(at[1])].name
    return environment.sites[str(at[1])].gateways[int(at[3])].name
