"""The environment of a world, and the order in which its service works."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from clouds.registry import cloud_of
from components.model import Environment
from components.model.sites.places import place_of
from longhaul.cli.examples import example
from tests.services.autoscaler.memory_clouds import CloudGroup, GroupWatcher


class InlineExecutor:
    """Runs jobs at once, in the order of their submission, so that a seed gives the same world each time. Jobs that are
    ``slow`` run later."""

    slow: Callable[[], bool] = staticmethod(lambda: False)
    late: list[Callable[[], None]] = []  # noqa: RUF012 - of all executors

    def __init__(self, max_workers: int = 1) -> None:
        pass

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # noqa: BLE001 - as a thread's pool does
                future.set_exception(error)

        if function.__name__ != "_write_group" and InlineExecutor.slow():
            InlineExecutor.late.append(run)
        else:
            run()
        return future

    def shutdown(self, *, wait: bool, cancel_futures: bool) -> None:
        pass


def environment(chance: random.Random) -> Environment:
    """Return an environment with some small pools."""
    whole = example("prod")
    sizes = {
        "cpu": {"min": chance.choice((0, 1, 2)), "max": chance.randint(3, 6)},
        "h100": {"max": chance.randint(1, 4), "spare": chance.choice((0, 0, 0, 1))},
        "h100-spot": {"max": chance.randint(1, 3)},
        "h100-west": {"max": chance.randint(1, 4)},
        "h100-azure": {"max": chance.randint(2, 6), "min": chance.choice((0, 0, 1))},
        "a10g": {"max": chance.randint(1, 4)},
    }
    chosen = ["cpu", *chance.sample([*sizes][1:], chance.randint(2, 4))]
    pools = {}
    for name in chosen:
        declared = whole.pools[name]
        fallbacks = tuple(other for other in declared.fallbacks if other in chosen)
        pools[name] = declared.model_copy(update={"min": 0, "fallbacks": fallbacks, **sizes[name]})
    most = chance.choice((None, None, 6, 9))
    return whole.model_copy(update={"pools": pools, "hosts": (), "max_nodes": most})


def cloud_groups(environment: Environment, watcher: GroupWatcher, chance: random.Random) -> dict[str, CloudGroup]:
    """Return the groups of all pools, by name."""
    groups = {}
    for name, pool in environment.pools.items():
        place = place_of(environment, pool.site)
        cloud = cloud_of(place.site)
        for declared in cloud.groups.of_pool(place, name):
            groups[declared.name] = CloudGroup(
                declared.name,
                name,
                place.site.kind,
                place.site.region,
                declared.max,
                cloud.groups.zone_labels(place, name),
                watcher,
                wanted=declared.min,
                least=declared.min if place.site.kind == "aws" else 0,
                chance=random.Random(chance.random()),
            )
    return groups
