"""Reads the groups of all pools, from all clouds at the same time, with as few requests as possible. A cloud that does
not answer delays no other cloud."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.base.groups import PoolGroup
from clouds.base.live_groups import GroupState, LiveGroup
from clouds.base.refusals import Refusal
from clouds.registry import cloud_of
from components.model.sites.places import place_of
from services.autoscaler.request_pauses import GroupPauses

if TYPE_CHECKING:
    from components.model import Environment

AT_ONCE = 16
"""Number of groups in a cloud's region that are asked at the same time."""
LIMIT_S = 10.0
"""Time after which a decision is made without a group's answer, seconds."""


@dataclass(frozen=True, kw_only=True)
class GroupAnswer:
    """A cloud's answer about one group."""

    declared: PoolGroup
    group: GroupState | None = None
    made: Mapping[str, str] | None = None
    """Creation times of machines that are not nodes, by machine id."""
    refusals: Sequence[Refusal] = ()
    error: str = ""
    """Reason why there is no current answer; then all other fields are from the last answer."""


@dataclass(frozen=True, kw_only=True)
class DeclaredGroup:
    """A group of a pool, with its cloud's interface."""

    pool: str
    cloud: str
    """Cloud and region, within which failures are likely to be shared."""
    declared: PoolGroup
    group: LiveGroup


def live_groups(environment: Environment) -> Iterator[DeclaredGroup]:
    """Yield the groups of every pool, in the order in which they are filled."""
    for name, pool in environment.pools.items():
        place = place_of(environment, pool.site)
        cloud = cloud_of(place.site)
        live = cloud.live_groups(place, name)
        where = f"{place.site.kind} {environment.sites[pool.site].region}"
        for live_group in cloud.groups.of_pool(place, name):
            yield DeclaredGroup(pool=name, cloud=where, declared=live_group, group=live[live_group.name])


class GroupReader:
    """Reader of groups, which reuses each answer for as long as the caller allows."""

    def __init__(self, environment: Environment, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.groups = {group.declared.name: group for group in live_groups(environment)}
        self._pools = tuple(environment.pools)
        self._clock, self._patience = clock, GroupPauses(clock=clock)
        self._answers: dict[str, tuple[float, GroupAnswer]] = {}
        self._last: dict[str, GroupAnswer] = {}
        """The last answer about each group that has answered."""
        self._late: dict[str, Future[GroupAnswer]] = {}
        self._threads = {
            cloud: ThreadPoolExecutor(max_workers=AT_ONCE) for cloud in {group.cloud for group in self.groups.values()}
        }

    def read(
        self,
        nodes: frozenset[str],
        *,
        keeps_s: Callable[[str], float] = lambda _name: 0.0,
        limit_s: float | None = None,
    ) -> dict[str, tuple[GroupAnswer, ...]]:
        """Return the groups by pool. ``nodes`` are the names of all nodes. ``keeps_s`` returns for how many seconds a
        group's answer may be reused; ``limit_s`` is the time limit for all requests of this call."""
        answers: dict[str, GroupAnswer] = {}
        begun: dict[str, Future[GroupAnswer]] = {}
        for name, live in self.groups.items():
            at, answer = self._answers.get(name, (0.0, None))
            if answer is not None and self._clock() - at < max(keeps_s(name), live.group.apart_s):
                answers[name] = answer
            elif name in self._late and not self._late[name].done():
                answers[name] = self._unreported(live, f"{live.cloud} has not answered yet")
            elif closed := self._patience.closed(live.cloud) or self._patience.closed(name):
                answers[name] = self._unreported(live, closed)
            else:
                self._late.pop(name, None)
                begun[name] = self._threads[live.cloud].submit(self._ask, live, nodes)
        wait(begun.values(), timeout=limit_s)
        for name, future in begun.items():
            answers[name] = self._taken(name, future, limit_s)
        return {
            pool: tuple(answers[name] for name, live in self.groups.items() if live.pool == pool)
            for pool in self._pools
        }

    def forget(self, name: str) -> None:
        """Drop the answer about a group that was written."""
        self._answers.pop(name, None)

    def close(self) -> None:
        """Send no further requests."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    def _taken(self, name: str, future: Future[GroupAnswer], limit_s: float | None) -> GroupAnswer:
        live = self.groups[name]
        if not future.done():
            self._late[name] = future
            error = f"{live.cloud} has not answered within {limit_s:g} s"
            self._patience.failed(live.cloud, error)
            return self._unreported(live, error)
        answer = future.result()
        if answer.error:
            answer = self._unreported(live, answer.error)
        else:
            # A late answer ends no pause: the next ones would be late as well.
            self._patience.answered(live.cloud)
            self._patience.answered(name)
            self._last[name] = answer
        self._answers[name] = (self._clock(), answer)
        return answer

    def _unreported(self, live: DeclaredGroup, error: str) -> GroupAnswer:
        """Return a group's last answer, with the reason why there is no current one."""
        return replace(self._last.get(live.declared.name, GroupAnswer(declared=live.declared)), error=error)

    def _ask(self, live: DeclaredGroup, nodes: frozenset[str]) -> GroupAnswer:
        try:
            observation = live.group.observe(nodes)
        except CloudError as error:
            if error.passing or not error.answered:
                where = live.declared.name if error.alone else live.cloud
                self._patience.failed(where, str(error), retry_s=error.retry_s)
            return GroupAnswer(declared=live.declared, error=str(error))
        return GroupAnswer(
            declared=live.declared,
            group=observation.group,
            made=observation.made,
            refusals=observation.refusals,
        )
