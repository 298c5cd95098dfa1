"""However many machines of a role are to be deleted at once, only one is out of service at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

from components.control_plane.replacement import (
    Check,
    CloudMachine,
    GuardRefusedError,
    Leaving,
    ReplacementLock,
    WaitingTimes,
)

TODAY = ("m-0", "m-1", "m-2")
QUICK = WaitingTimes(replaced=5.0, other=0.0, look=0.001)


class Cloud:
    """Machines that are deleted and made anew as an engine would do it; records what happened meanwhile."""

    def __init__(self, *, today: Iterable[str] = TODAY, broken: Iterable[str] = ()) -> None:
        self.generation = dict.fromkeys(today, 1)
        self.broken = set(broken)
        self.stays_broken: set[str] = set()
        self.order: list[str] = []
        self.fewest = len(self.generation)
        self._lock = threading.Lock()

    def look(self, machine: str) -> CloudMachine:
        with self._lock:
            generation = self.generation.get(machine, 0)
            return CloudMachine(id=f"{machine}-{generation}" if generation else "", being_made=not generation)

    def why_not_ready(self, machine: str, *, wait_s: float) -> str:
        with self._lock:
            return "" if self.generation.get(machine) and machine not in self.broken else "its program does not run"

    async def replace(self, machine: str) -> None:
        """Delete the machine and make it anew, as the engine does after a hook has allowed it."""
        with self._lock:
            self.order.append(machine)
            before = self.generation.pop(machine)
            self.fewest = min(self.fewest, len(set(self.generation) - self.broken))
        await asyncio.sleep(0.01)
        with self._lock:
            self.generation[machine] = before + 1
            self.broken -= {machine}
            self.broken |= self.stays_broken & {machine}

    async def delete(self, machine: str) -> None:
        with self._lock:
            self.order.append(machine)
        await asyncio.sleep(0.01)
        with self._lock:
            del self.generation[machine]


def nothing(_leaving: Leaving) -> None:
    return None


def replace_all(
    cloud: Cloud, machines: Iterable[str] = TODAY, *, check: Check = nothing
) -> dict[str, BaseException | None]:
    """Replace all of them at once, each after its turn. Return the exception of each, or None."""

    async def run() -> dict[str, BaseException | None]:
        lock = ReplacementLock(cloud, today=TODAY, patience=QUICK)

        async def one(machine: str) -> None:
            await lock.take(machine, check=check)
            await cloud.replace(machine)

        wanted = list(machines)
        done = await asyncio.gather(*(one(machine) for machine in wanted), return_exceptions=True)
        return dict(zip(wanted, done, strict=True))

    return asyncio.run(asyncio.wait_for(run(), 30))


def test_all_are_replaced_one_at_a_time() -> None:
    cloud = Cloud()
    assert replace_all(cloud) == dict.fromkeys(TODAY)
    assert sorted(cloud.order) == list(TODAY)
    assert cloud.fewest == 2
    assert set(cloud.generation.values()) == {2}


def test_one_that_does_not_come_back_keeps_the_others() -> None:
    cloud = Cloud()
    cloud.stays_broken = {"m-0", "m-1", "m-2"}
    done = replace_all(cloud)
    (first,) = cloud.order
    assert done.pop(first) is None
    for machine, outcome in done.items():
        assert isinstance(outcome, GuardRefusedError)
        assert f"{machine} must stay: {first}, which this run made anew, is not ready" in str(outcome)


def test_what_an_earlier_run_left_behind_keeps_the_others() -> None:
    cloud = Cloud(broken={"m-2"})
    done = replace_all(cloud, ("m-0", "m-1"))
    assert cloud.order == []
    assert all("m-2 is not healthy (its program does not run)" in str(outcome) for outcome in done.values())


def test_the_one_that_is_not_well_goes_first() -> None:
    cloud = Cloud(broken={"m-2"})
    assert replace_all(cloud) == dict.fromkeys(TODAY)
    assert cloud.order[0] == "m-2"
    assert cloud.fewest == 2


def test_several_that_are_not_well_go_one_after_the_other_and_the_first_is_told_of_the_rest() -> None:
    cloud = Cloud(broken={"m-0", "m-1"})
    told: list[Leaving] = []
    assert replace_all(cloud, check=told.append) == dict.fromkeys(TODAY)
    assert cloud.order[2] == "m-2"
    assert {cloud.order[0], *told[0].doomed} == {"m-0", "m-1"}
    assert told[1:] == [Leaving(for_good=False)] * 2


def test_one_that_vanished_is_waited_for() -> None:
    cloud = Cloud()
    del cloud.generation["m-2"]

    async def run() -> None:
        lock = ReplacementLock(cloud, today=TODAY, patience=QUICK)
        taken = asyncio.create_task(lock.take("m-0", check=nothing))
        await asyncio.sleep(0.05)
        assert not taken.done()
        cloud.generation["m-2"] = 2  # the engine has made it anew
        await asyncio.wait_for(taken, 5)

    asyncio.run(run())


def test_the_check_has_the_last_word() -> None:
    def refuse(_leaving: Leaving) -> None:
        raise GuardRefusedError("no quorum")

    cloud = Cloud()
    done = replace_all(cloud, check=refuse)
    assert cloud.order == []
    assert {str(outcome) for outcome in done.values()} == {"no quorum"}


def test_one_that_goes_for_good_is_gone_before_the_next_goes() -> None:
    cloud = Cloud(today=(*TODAY, "m-3", "m-4"))
    there_at_check: list[tuple[int, bool]] = []

    async def run() -> None:
        lock = ReplacementLock(cloud, today=TODAY, patience=QUICK)

        async def one(machine: str) -> None:
            await lock.take(
                machine, check=lambda leaving: there_at_check.append((len(cloud.generation), leaving.for_good))
            )
            await cloud.delete(machine)

        await asyncio.gather(one("m-3"), one("m-4"))

    asyncio.run(asyncio.wait_for(run(), 30))
    assert there_at_check == [(5, True), (4, True)]
