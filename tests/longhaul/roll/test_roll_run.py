"""Whole rolls of a pool in memory: the effects on its machines and their pods."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from clouds.base.errors import CloudError
from clouds.base.live_groups import LiveMachine
from contract.annotations import ROLL, ROLL_STAGE
from contract.kubernetes.connection import ApiError
from longhaul.roll.events import RollEventKind
from longhaul.roll.loop import PATIENCE_S, StoppedError
from tests.support.rolled import Pool


@pytest.fixture(name="pool", params=[False, True], ids=["ended and followed", "in place"])
def _pool(request: pytest.FixtureRequest) -> Pool:
    return Pool(in_place=request.param)


def test_a_free_pool_is_rolled_one_by_one(pool: Pool) -> None:
    pool.cloud.old("a", "b", "c")
    pool.roll().run()
    assert pool.all_new()
    assert pool.cloud.most_out == 1
    assert pool.notes() == {}
    replaced = [call for call in pool.cloud.calls if call.startswith("replace")]
    assert replaced == ["replace a", "replace b", "replace c"]


def test_a_share_goes_together(pool: Pool) -> None:
    pool.cloud.old(*(f"m{index}" for index in range(10)))
    pool.roll(at_once=lambda total: total * 30 // 100).run()
    assert pool.all_new()
    assert 2 <= pool.cloud.most_out <= 3


def test_work_goes_on_until_it_ends(pool: Pool) -> None:
    pool.cloud.old("a", "b")
    pool.cluster.pod("job", "a")
    pool.meanwhile[5000.0] = lambda: pool.cluster.finish("job")
    pool.roll().run()
    assert pool.all_new()
    assert pool.cluster.evicted == []
    assert [call.split()[1] for call in pool.cloud.calls if call.startswith("replace")] == ["b", "a"]
    assert pool.cluster.seconds >= 5000
    assert pool.first(RollEventKind.WAITING) == "waits for team/job"


def test_work_is_ended_at_its_checkpoint_and_not_at_an_old_one(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.pod("job", "a")
    pool.cluster.announce("job", pool.cluster.now() - timedelta(hours=1))
    pool.meanwhile[3000.0] = lambda: pool.cluster.announce("job", pool.cluster.now())
    pool.roll().run()
    assert pool.all_new()
    assert pool.cluster.evicted == ["job"]
    assert 3000 <= pool.cluster.seconds < 3200
    assert pool.first(RollEventKind.RELEASED) == "all of its work has written a checkpoint"


def test_work_is_ended_at_the_deadline(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.pod("job", "a")
    pool.roll(deadline=timedelta(hours=1)).run()
    assert pool.cluster.evicted == ["job"]
    assert 3600 <= pool.cluster.seconds < 3800


def test_what_stays_does_not_keep_a_machine(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.pod("agent", "a", owner="DaemonSet")
    pool.cluster.pod("dns", "a", namespace="kube-system", owner="ReplicaSet")
    pool.roll().run()
    assert pool.all_new()
    assert pool.cluster.evicted == ["dns"]


def test_a_new_machine_that_fails_stops_the_roll_and_the_rest_stays_old(pool: Pool) -> None:
    pool.cloud.old("a", "b", "c")
    pool.cluster.pod("job", "c")
    pool.cloud.joins = False
    roll = pool.roll()
    with pytest.raises(StoppedError, match="1 failed, and 0 may"):
        roll.run()
    assert len([call for call in pool.cloud.calls if call.startswith("replace")]) == 1
    assert [machine.node for machine in pool.cloud.machines.values() if not machine.current] == ["b", "c"]
    assert list(roll.failed.values()) == ["it has not joined, after 10 min"]
    assert not any(node["spec"].get("unschedulable") for node in pool.cluster.nodes.values())
    assert pool.notes() == {}
    assert pool.cluster.evicted == []


def test_a_budget_lets_some_fail(pool: Pool) -> None:
    pool.cloud.old("a", "b")
    pool.cloud.joins = False
    pool.meanwhile[660.0] = lambda: setattr(pool.cloud, "joins", True)
    roll = pool.roll(budget=1)
    roll.run()
    assert list(roll.failed.values()) == ["it has not joined, after 10 min"]
    assert all(machine.current for machine in pool.cloud.machines.values())


def test_a_machine_that_may_not_be_emptied_is_given_up_and_takes_pods_again(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.pod("dns", "a", namespace="kube-system", owner="ReplicaSet")
    pool.cluster.budgets.add(("kube-system", "dns"))
    roll = pool.roll()
    with pytest.raises(StoppedError):
        roll.run()
    (reason,) = roll.failed.values()
    assert reason.startswith("it is not empty: kube-system/dns: Cannot evict")
    assert pool.first(RollEventKind.BLOCKED).startswith("may not be emptied yet: kube-system/dns: Cannot evict")
    assert "unschedulable" not in pool.cluster.nodes["a"]["spec"]
    assert pool.cloud.calls == []


def test_machines_that_the_cloud_does_not_make_stop_the_roll() -> None:
    pool = Pool()
    pool.cloud.old("a", "b")
    pool.cloud.wanted = 3
    with pytest.raises(StoppedError, match="1 machines are missing: the cloud has not made them, after 10 min"):
        pool.roll().run()
    assert pool.cloud.calls == []


class KilledError(Exception):
    """The run's process was killed."""


def die() -> None:
    raise KilledError


def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(pool: Pool) -> None:
    """It is killed at each of its writes, before and after the write takes effect."""
    finished = False
    moment = 0
    while not finished:
        moment += 1
        fresh = Pool(in_place=pool.cloud.in_place)
        fresh.cloud.old("a", "b")
        fresh.cluster.pod("dns", "a", namespace="kube-system", owner="ReplicaSet")
        fresh.cluster.pod("job", "b")
        fresh.cluster.announce("job", fresh.cluster.now() + timedelta(seconds=50))
        finished = not _killed(fresh, moment)
        fresh.roll().run()
        assert fresh.all_new(), moment
        assert fresh.cloud.most_out <= 1, moment
        assert fresh.notes() == {}, moment
        assert not any(node["spec"].get("unschedulable") for node in fresh.cluster.nodes.values()), moment
        replaced = {call for call in fresh.cloud.calls if call.startswith("replace")}
        assert replaced == {"replace a", "replace b"}, moment
    assert moment > 8


def _killed(pool: Pool, moment: int) -> bool:
    """Run until the write with that number; return whether the run got that far."""
    number = 0
    kept: dict[str, Any] = {}

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            nonlocal number
            number += 1
            if number == moment and moment % 2:
                raise KilledError
            done = call(*given, **named)
            if number == moment:
                raise KilledError
            return done

        return called

    for holder, names in ((pool.cluster, ("patch", "post", "delete")), (pool.cloud, ("replace", "rebuild"))):
        for name in names:
            kept[name] = holder
            setattr(holder, name, dying(getattr(holder, name)))
    try:
        pool.roll().run()
    except KilledError:
        return True
    finally:
        for name, holder in kept.items():
            delattr(holder, name)
    return False


def test_what_another_run_cordoned_is_gone_on_with(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.pod("job", "a")
    pool.meanwhile[500.0] = die
    with pytest.raises(KilledError):
        pool.roll().run()
    assert pool.notes()["a"][ROLL] == "v2"
    assert ROLL_STAGE not in pool.notes()["a"]
    pool.cluster.finish("job")
    pool.roll().run()
    assert pool.all_new()


def test_a_machine_whose_node_lost_its_label_is_not_taken_for_absent(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.nodes["a"]["metadata"]["labels"] = {}
    pool.cluster.pod("job", "a")
    pool.meanwhile[100.0] = lambda: pool.cluster.finish("job")
    pool.roll().run()
    assert pool.cluster.evicted == []
    assert pool.cluster.seconds > 100


@pytest.mark.parametrize("which", ["cluster", "cloud"])
def test_silence_is_waited_out(pool: Pool, which: str) -> None:
    pool.cloud.old("a")
    if which == "cluster":
        pool.cluster.down = ApiError("no answer")
    else:
        pool.cloud.down = CloudError("no answer", passing=True)
    pool.meanwhile[300.0] = lambda: setattr(getattr(pool, which), "down", None)
    pool.roll().run()
    assert pool.all_new()
    assert pool.first(RollEventKind.RETRY) == "no answer; asked again"


def test_silence_that_lasts_ends_the_run(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cloud.down = CloudError("no answer", passing=True)
    with pytest.raises(CloudError):
        pool.roll().run()
    assert pool.cluster.seconds >= PATIENCE_S


def test_a_refusal_is_not_waited_out(pool: Pool) -> None:
    pool.cluster.down = ApiError("forbidden", status=403)
    with pytest.raises(ApiError, match="forbidden"):
        pool.roll().run()
    assert pool.cluster.seconds == 0


def test_a_machine_that_the_cloud_does_not_replace_fails(pool: Pool) -> None:
    pool.cloud.old("a", "b")
    pool.cloud.refuses = CloudError("OperationNotAllowed", passing=False)
    roll = pool.roll()
    with pytest.raises(StoppedError):
        roll.run()
    assert list(roll.failed.values()) == ["OperationNotAllowed"]
    assert pool.cloud.calls == ["replace a"]


def test_nobody_else_is_touched_once_too_many_failed(pool: Pool) -> None:
    pool.cloud.old("a", "b", "c", "d")
    pool.cloud.refuses = CloudError("OperationNotAllowed", passing=False)
    with pytest.raises(StoppedError):
        pool.roll(at_once=lambda _total: 4).run()
    assert [call for call in pool.cloud.calls if call.startswith("replace")] == ["replace a"]


def test_what_a_step_takes_is_no_time_that_others_had(pool: Pool) -> None:
    pool.cloud.old("a", "b")
    pool.cluster.pod("dns", "b", namespace="kube-system", owner="ReplicaSet")
    pool.cluster.budgets.add(("kube-system", "dns"))
    pool.meanwhile[1000.0] = pool.cluster.budgets.clear
    replace, slow = pool.cloud.replace, [900.0]

    def replaced(machine: LiveMachine) -> None:
        if slow:
            pool.cluster.advance(slow.pop())
        replace(machine)

    pool.cloud.replace = replaced  # type: ignore[method-assign]
    pool.roll(at_once=lambda _total: 2).run()
    assert pool.all_new()


def test_what_is_given_back_was_changed_by_somebody_meanwhile(pool: Pool) -> None:
    pool.cloud.old("a")
    pool.cluster.pod("job", "a")
    roll = pool.roll()
    pool.meanwhile[100.0] = lambda: setattr(pool.cluster, "down", ApiError("forbidden", status=403))
    with pytest.raises(ApiError):
        roll.run()
    pool.cluster.down = None
    seen = roll.look().machines
    pool.cluster.patch("/api/v1/nodes/a", {"metadata": {"labels": {"heartbeat": "1"}}})
    roll.give_back(seen, "it was given up")
    assert not pool.cluster.nodes["a"]["spec"].get("unschedulable")
    assert pool.notes() == {}


def test_the_turn_that_was_lost_ends_the_run(pool: Pool) -> None:
    pool.cloud.old("a")
    roll = pool.roll()
    roll.has_lease = lambda: False
    with pytest.raises(StoppedError, match="another run rolls the pool now"):
        roll.run()
    assert pool.cloud.calls == []
