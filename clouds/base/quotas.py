"""Judges whether a quota is large enough, in the same way for all clouds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clouds.base.findings import Finding, ok, problem, warning


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A quota, and the amount of it that an environment needs."""

    place: str
    """Cloud and region."""
    name: str
    unit: str
    limit: int
    used: int
    """Amount already in use, outside the environment unless ``mixed``."""
    least: int
    """Amount that the environment needs with every pool at its `min`."""
    most: int
    """Amount that it needs with every pool at its `max`."""
    where: Sequence[str]
    raise_it: str
    """Advice how to raise the quota; ``{}`` stands for the value to request."""
    mixed: bool = False
    """True when ``used`` may include existing resources of the environment itself."""


def judge(quota: Quota) -> Finding:
    """Return a problem when even the pools' `min` does not fit, and a warning when only their `max` does not fit. A
    ``mixed`` quota causes a warning at most."""
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
