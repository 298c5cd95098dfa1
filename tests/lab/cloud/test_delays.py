"""Operations that take as long as Azure documents, by a clock that the test turns."""

from __future__ import annotations

import asyncio

import pytest

from lab.cloud.azure.changes import DURATIONS_S
from lab.cloud.azure.schema import virtual_network_gateway
from lab.cloud.delays import Delays
from tests.lab.cloud import links
from tests.lab.cloud.clock import TurnedClock
from tests.lab.cloud.conftest import Live, SlowLive

MINUTE = 60.0


def state(live: Live, path: str) -> str:
    return str(live.arm("GET", path).json()["properties"]["provisioningState"])


@pytest.mark.parametrize(("factor", "expected"), [(0.0, 0.0), (0.1, 270.0), (1.0, 2700.0)])
def test_all_delays_follow_one_factor(factor: float, expected: float) -> None:
    delays = Delays(factor, clock=TurnedClock())
    assert delays.after(45 * MINUTE) - delays.now() == expected


def test_without_a_clock_of_its_own_a_delay_is_real_time() -> None:
    delays = Delays(0.001)
    begun = delays.now()
    asyncio.run(delays.until(delays.after(10.0)))
    assert delays.now() - begun >= 0.01


def test_shares_look_random_and_are_the_same_in_each_run() -> None:
    shares = [Delays(seed="lab").share("assignment", str(number)) for number in range(100)]
    assert shares == [Delays(seed="lab").share("assignment", str(number)) for number in range(100)]
    assert shares != [Delays(seed="other").share("assignment", str(number)) for number in range(100)]
    assert 0 <= min(shares) < 0.1 < 0.9 < max(shares) < 1


def test_a_gateway_takes_three_quarters_of_an_hour(slow: SlowLive) -> None:
    links.build(slow)
    being_changed = slow.arm("PUT", links.GATEWAY, links.gateway())
    slow.turn(DURATIONS_S[virtual_network_gateway.TYPE] - 1)
    assert state(slow, links.GATEWAY) == "Updating"
    slow.turn(1)
    Live.wait(slow, being_changed)
    assert state(slow, links.GATEWAY) == "Succeeded"


def test_a_restart_of_the_daemon_makes_nothing_begin_anew(slow: SlowLive) -> None:
    links.build(slow)
    being_changed = slow.arm("PUT", links.GATEWAY, links.gateway())
    slow.turn(44 * MINUTE)
    slow.stop()
    slow.start()
    slow.turn(MINUTE)
    Live.wait(slow, being_changed)
    assert state(slow, links.GATEWAY) == "Succeeded"
