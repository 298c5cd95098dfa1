"""Turns of those who start API servers anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from contract.kubernetes.connection import ApiError
from longhaul.cluster.api_server_lock import LEASE, locked_for_rotation, locked_to_end_connections
from longhaul.terminal.exits import CommandError
from tests.support.pool import FakeCluster

HELD = "a key is being rotated, or API servers are restarted, by .*, process"


@pytest.fixture(name="cluster")
def _cluster() -> Any:
    return FakeCluster()


def end(
    cluster: Any, *, said: Callable[[str], None] = print, refuse_up: Callable[[], None] = lambda: None
) -> AbstractContextManager[None]:
    return locked_to_end_connections(nullcontext(cluster), refuse_up=refuse_up, tell=said)


def test_what_is_open_is_not_ended_while_a_key_is_rotated(cluster: Any) -> None:
    with locked_for_rotation(cluster):
        with (
            pytest.raises(CommandError, match=f"requests that were open before continue: {HELD}.*Then run this again"),
            end(cluster),
        ):
            raise AssertionError("nothing is started anew")
        with pytest.raises(CommandError, match=HELD), locked_for_rotation(cluster):
            pass
    with end(cluster), pytest.raises(CommandError, match=HELD), locked_for_rotation(cluster):
        pass
    with locked_for_rotation(cluster) as held:
        assert held()
    assert set(cluster.leases) == {LEASE}


def test_nor_while_an_up_changes_the_environment(cluster: Any) -> None:
    def refuse() -> None:
        raise CommandError("lab is being changed by process 7")

    with (
        pytest.raises(CommandError, match="continue: lab is being changed by process 7"),
        end(cluster, refuse_up=refuse),
    ):
        raise AssertionError("nothing is started anew")
    assert cluster.leases == {}


def test_a_cluster_that_does_not_answer_holds_up_nobody(cluster: Any) -> None:
    said: list[str] = []
    cluster.down = ApiError("no answer")
    with end(cluster, said=said.append):
        assert said == ["no answer: so no key is being rotated, and API servers are restarted without waiting"]
    cluster.down = ApiError("no right to", status=403)
    with pytest.raises(CommandError, match="continue: no right to"), end(cluster):
        raise AssertionError("nothing is started anew")
