"""Random worlds: the whole service against clouds, machines, people and a clock that fail. A seed gives the same world
each time: for the drill, ``SOAK=17`` chooses that one, ``SOAK=100-400`` these."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from tests.services.autoscaler.soak_storm import SoakStorm
from tests.services.autoscaler.soak_world import FaultError, SoakWorld

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
SERVED = 2.5 * HOUR
"""Time after the last fault in which every pod that a pool can take runs: the longest pause after a failure, a trial,
and the pods that waited for its result."""
QUIET = 1.5 * HOUR
"""Time after that in which nothing is done any more."""
EMPTY = 2.5 * HOUR
"""Time after the last pod in which every machine above the minimum is gone."""
CALM = (120, 180)
"""Times between two passes while nothing happens, seconds."""


def seeds() -> list[int]:
    first, _, last = os.environ.get("SOAK", "100-199").partition("-")
    return [*range(int(first), int(last or first) + 1)]


def live(seed: int, monkeypatch: pytest.MonkeyPatch, *, time: timedelta = 3 * HOUR) -> None:
    """Let a world live: a storm, then calm, then no demand."""
    world = SoakWorld(seed, monkeypatch)
    storm = SoakStorm(world)
    with reported(world):
        run(world, storm, time, share=0.4, seconds=(5, 20, 60))
        settle(world, storm)


@contextmanager
def reported(world: SoakWorld) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{error}\n{world.report()}") from error


def run(world: SoakWorld, storm: SoakStorm, time: timedelta, *, share: float, seconds: tuple[float, ...]) -> None:
    until = world.now + time
    while world.now < until:
        storm.step(world.chance.choice(seconds), share=share)


def settle(world: SoakWorld, storm: SoakStorm) -> None:
    """Let everything be calm: demand is served, then nothing happens any more, and without demand all machines go."""
    storm.calm()
    run(world, storm, SERVED, share=0.0, seconds=CALM)
    for sentence in world.unserved():
        world.fault(sentence)
    since = world.now
    run(world, storm, QUIET, share=0.0, seconds=CALM)
    late = [f"{at - since} {what}" for at, what in world.acted if at > since]
    if late:
        world.fault(f"with everything as it was: {late}")
    for name in [*world.cluster.jobs]:
        storm.remove_job(name)
    run(world, storm, EMPTY, share=0.0, seconds=CALM)
    for name, pool in world.environment.pools.items():
        least = max(pool.min, pool.spare)
        if not pool.min <= world.total(name) <= least:
            world.fault(f"{name} has {world.total(name)} machines without demand, and should have {least}")


def test_a_stormy_day(monkeypatch: pytest.MonkeyPatch) -> None:
    live(1, monkeypatch, time=1.5 * HOUR)


def spoiled(seed: int, monkeypatch: pytest.MonkeyPatch, *, time: timedelta = 8 * HOUR) -> None:
    """Let machines of some pools be of no use for long, while the demand stays as it is."""
    world = SoakWorld(seed, monkeypatch)
    storm = SoakStorm(world)
    pools = world.chance.sample([*world.environment.pools], 2)
    for pool in pools:
        storm.spoil(pool, minutes=10 * time / MINUTE)
    for _ in range(2):
        storm.add_job(count=world.chance.randint(1, 4))
    for job in world.cluster.jobs.values():
        job.lasts = None
    with reported(world):
        run(world, storm, time, share=0.0, seconds=(60, 120))
        asked = sum(job.count for job in world.cluster.jobs.values())
        for pool in pools:
            # Two shapes, and the pool as a whole: pauses of 5, 10, 20, 40 and 60 minutes, and one machine after each.
            most = asked + 3 * (time // HOUR + 4)
            # Those of the minimum are replaced, each after its time to join.
            most += world.environment.pools[pool].min * (time // HOUR) * 5
            if world.made_count.get(pool, 0) > most:
                world.fault(f"{pool} was asked for {world.made_count[pool]} machines that are of no use")
        for sentence in world.unserved():
            world.fault(sentence)
        settle(world, storm)


def test_machines_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled(1, monkeypatch, time=4 * HOUR)


@pytest.mark.drill
@pytest.mark.parametrize("seed", seeds())
def test_stormy_days(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    live(seed, monkeypatch)


def test_a_fault_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    world = SoakWorld(0, monkeypatch)
    with pytest.raises(AssertionError, match="seed 0"), reported(world):
        raise FaultError("something")


@pytest.mark.drill
@pytest.mark.parametrize("seed", seeds())
def test_long_times_of_no_use(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spoiled(seed, monkeypatch)
