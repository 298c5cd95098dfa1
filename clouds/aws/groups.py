"""Auto scaling groups, which have no size that a pool would reach."""

from __future__ import annotations

from clouds.aws.site import AwsSite
from clouds.base.groups import PoolGroup
from clouds.base.place import Place


def of_pool(place: Place[AwsSite], name: str) -> tuple[PoolGroup, ...]:
    """One group for each pool."""
    pool, own = place.pools[name], place.pool_resource(name)
    return (PoolGroup(name=place.cloud_name(own), resource=own, min=pool.min, max=pool.max),)
