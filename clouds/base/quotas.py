"""Is a quota large enough: what is judged alike in all clouds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clouds.base.findings import Finding, ok, problem, warning


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A quota, and what an environment takes of it."""

    place: str
    """Cloud and region."""
    name: str
    unit: str
    limit: int
    used: int
    """Taken already: by others than the environment, unless ``mixed``."""
    least: int
    """What it takes with every pool at its `min`."""
    most: int
    """With every pool at its `max`."""
    where: Sequence[str]
    raise_it: str
    """How it is raised; ``{}`` stands for what it has to become."""
    mixed: bool = False
    """Whether ``used`` may count the environment's own, which are there already."""


def judge(quota: Quota) -> Finding:
    """A problem when not even every pool's `min` fits, a warning when their `max` does not."""
    free = max(quota.limit - quota.used, 0)
    span = f"{quota.least:,}" if quota.least == quota.most else f"{quota.least:,} to {quota.most:,}"
    others = "in use, this environment's own among them" if quota.mixed else "in use by others"
    what = (
        f"{quota.place}, {quota.name}: {quota.limit:,} {quota.unit}, {quota.used:,} {others}; "
        f"the environment takes {span}"
    )
    do = quota.raise_it.format(quota.used + quota.most)
    if quota.least > free and not quota.mixed:
        return problem(what, *quota.where, do=do)
    if quota.most > free:
        return warning(what, *quota.where, do=do)
    return ok(what, *quota.where)
