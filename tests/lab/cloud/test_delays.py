"""Operations that take as long as Azure documents, by a clock that the test turns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lab.cloud.azure.changes import DURATIONS_S
from lab.cloud.azure.schema import virtual_network_gateway
from lab.cloud.delays import Delays
from lab.config import LabConfig
from lab.daemon import Daemon
from lab.state import LabState
from tests.lab.cloud import links
from tests.lab.cloud.clock import TurnedClock
from tests.lab.cloud.conftest import Live, SlowLive
from tests.lab.cloud.fake import FakeHypervisor

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


class Asked:
    """Clouds that only keep what the daemon gave them."""

    def __init__(self, **given: Any) -> None:
        self.given = given


def test_the_daemon_gives_the_clouds_the_factor_of_its_configuration(tmp_path: Path) -> None:
    state = LabState.of("x", root=tmp_path)
    state.create()
    config = LabConfig(
        rootfs="/", operators="10.9.0.0/24", supernet="10.0.0.0/8", port=1, cloud=f"{__name__}:Asked", delays=0.5
    )
    config.write(state)
    made: Any = Daemon(state, LabConfig.read(state), 0)._make_cloud(FakeHypervisor())
    assert made.given["delays"].after(100.0, since=0.0) == 50.0
