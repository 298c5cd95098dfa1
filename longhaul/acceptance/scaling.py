"""A check of pools: one machine more through the cloud's own interface joins, one fewer leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from clouds.aws import session
from clouds.aws.site import AwsSite
from clouds.azure.names import resource_group
from clouds.azure.session import ResourceManager
from clouds.azure.site import AzureSite
from components.model import Environment
from components.model.groups import pool_groups
from components.model.nodes import POOL_LABEL
from components.model.places import place_of
from longhaul.acceptance.check import NotApplicableError
from longhaul.acceptance.limit import Limit
from longhaul.acceptance.pods import ready
from longhaul.acceptance.subject import Subject
from longhaul.drain import NODES
from longhaul.kubernetes.connection import Object
from longhaul.rolling.azure import COMPUTE_VERSION, asked, scale_set
from longhaul.rolling.cloud import CloudError


class Sized(Protocol):
    """A pool's group, as far as its size goes. Everything raises :class:`CloudError`."""

    def size(self) -> int:
        """Machines that it should have."""

    def resize(self, count: int) -> None:
        """Ask for another number of them, as an autoscaler does."""


class AwsSized:
    """An auto scaling group (docs.aws.amazon.com, Auto Scaling API, ``SetDesiredCapacity``)."""

    def __init__(self, name: str, *, region: str) -> None:
        self._name, self._region = name, region

    def size(self) -> int:
        """Its desired capacity."""
        found = self._call(lambda client: client.describe_auto_scaling_groups(AutoScalingGroupNames=[self._name]))
        if not found["AutoScalingGroups"]:
            raise CloudError(f"AWS {self._region} has no auto scaling group {self._name}", passing=False)
        return int(found["AutoScalingGroups"][0]["DesiredCapacity"])

    def resize(self, count: int) -> None:
        """The group ends or launches machines itself."""
        self._call(lambda client: client.set_desired_capacity(AutoScalingGroupName=self._name, DesiredCapacity=count))

    def _call(self, ask: Callable[[Any], Any]) -> Any:
        try:
            with session.asked(f"AWS {self._region}, {self._name}"):
                return ask(session.shared().client("autoscaling", self._region))
        except session.AwsError as error:
            raise CloudError(str(error), passing=False) from None


class AzureSized:
    """A scale set (learn.microsoft.com, "Virtual Machine Scale Sets - Update": the SKU's ``capacity``)."""

    def __init__(self, name: str, *, subscription: str, group: str) -> None:
        self._manager = ResourceManager()
        self._path = scale_set(name, subscription=subscription, resource_group=group)

    def size(self) -> int:
        """Its capacity."""
        return int(self._sku()["capacity"])

    def resize(self, count: int) -> None:
        """The scale set ends or makes machines itself."""
        body = {"sku": {**self._sku(), "capacity": count}}
        with asked():
            self._manager.ask("PATCH", self._path, version=COMPUTE_VERSION, body=body)

    def _sku(self) -> Object:
        with asked():
            sku: Object = self._manager.get(self._path, version=COMPUTE_VERSION)["sku"]
            return sku


def sized(environment: Environment, pool: str) -> Sized:
    """The group of a pool that its next machine is of."""
    name = pool_groups(environment, pool)[0].name
    site_name = environment.pools[pool].site
    match environment.sites[site_name]:
        case AwsSite() as site:
            return AwsSized(name, region=site.region)
        case AzureSite() as site:
            return AzureSized(
                name, subscription=site.subscription, group=resource_group(place_of(environment, site_name))
            )
        case site:
            raise NotApplicableError(f"pool {pool} is on {site.kind}, not in a cloud")


def scaled_pool(environment: Environment) -> str | None:
    """The pool whose size is changed: one that may grow, without GPUs if there is one, of the fewest cores."""
    types = {name: environment.machine_type(pool.machine_type) for name, pool in environment.pools.items()}
    growing = [name for name, pool in environment.pools.items() if pool.max > pool.min]
    return min(growing, key=lambda name: (types[name].gpus, types[name].vcpus, name), default=None)


def one_more_and_back(subject: Subject, group_of: Callable[[Environment, str], Sized] = sized) -> str:
    """One machine more, and back, whatever happens in between."""
    environment = subject.environment
    pool = scaled_pool(environment)
    if pool is None:
        raise NotApplicableError("no pool may grow beyond its `min`")
    group = group_of(environment, pool)
    before = group.size()
    if before >= environment.pools[pool].max:
        raise NotApplicableError(f"pool {pool} has its {before} machines, as many as it may have")
    _await(subject, pool, before, subject.soon())
    try:
        group.resize(before + 1)
        limit = subject.soon()
        given = limit.left()
        _await(subject, pool, before + 1, limit)
        joined = given - limit.left()
    finally:
        group.resize(before)
    limit = subject.soon()
    given = limit.left()
    _await(subject, pool, before, limit)
    gone = given - limit.left()
    return f"pool {pool} from {before} to {before + 1}: ready after {joined:.0f} s; back: gone after {gone:.0f} s"


def _await(subject: Subject, pool: str, count: int, limit: Limit) -> None:
    """So many nodes of the pool, all ready, and no other."""

    def why_not(items: list[Object]) -> str:
        well = sum(map(ready, items))
        return "" if well == len(items) == count else f"{well} of {len(items)} nodes ready"

    limit.await_items(
        subject.api(""),
        NODES,
        why_not,
        what=f"pool {pool} has {count} nodes, all ready",
        labelSelector=f"{POOL_LABEL}={pool}",
    )
