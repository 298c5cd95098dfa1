"""The command: its options, its output, its exit codes."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from clouds.base.errors import CloudError
from contract.kubernetes.connection import ApiError
from longhaul.cli import main
from longhaul.cluster import api_access as cluster
from longhaul.roll import hosts, loop, pools
from longhaul.terminal.exits import Exit
from longhaul.terminal.option_types import duration
from tests.longhaul.conftest import Checkout
from tests.support.pool import FakeCluster, FakeGroup


class Rolled:
    """A pool of the environment in memory, and runs of the command on it."""

    def __init__(self, checkout: Checkout) -> None:
        checkout.gains_hosts()
        self._base = ["roll", "--env", "dev", "--project", str(checkout.path)]
        self.cluster = FakeCluster()
        self.cloud = FakeGroup(cluster=self.cluster)
        self.at: dict[float, Callable[[], Any]] = {}
        """Actions by the time when they happen, in seconds."""

    def wait(self, seconds: float) -> None:
        assert self.cluster.seconds < 10_000, "it goes on for ever"
        self.cloud.wait(seconds)
        for at in [at for at in self.at if at <= self.cluster.seconds]:
            self.at.pop(at)()

    def __call__(self, *words: str) -> int:
        return main([*self._base, "--pool", "cpu", *words])


@pytest.fixture(name="roll")
def _roll(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Rolled:
    rolled = Rolled(checkout)

    @contextmanager
    def api(*_: object) -> Iterator[FakeCluster]:
        yield rolled.cluster

    monkeypatch.setattr(pools, "pool_machines", lambda _environment, _pool: rolled.cloud)
    monkeypatch.setattr(cluster, "api_of", api)
    timed = functools.partial(loop.Roll, clock=lambda: rolled.cluster.seconds, wait=rolled.wait)
    monkeypatch.setattr(loop, "Roll", timed)
    return rolled


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def interrupt() -> None:
    raise KeyboardInterrupt


def test_a_pool_is_rolled(roll: Rolled, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.old("a", "b")
    assert roll() == Exit.OK
    said = capsys.readouterr()
    assert said.out == "dev, pool cpu, v2: 2 current; 2 replaced\n"
    assert "longhaul: a: is cordoned: no work runs on it\n" in said.err
    assert "longhaul: n100: is in service\n" in said.err


def test_programs_get_an_object_for_each_event_and_one_at_the_end(
    roll: Rolled, capsys: pytest.CaptureFixture[str]
) -> None:
    roll.cloud.old("a")
    assert roll("--json") == Exit.OK
    *events, report = lines(capsys.readouterr().out)
    assert [event["event"] for event in events] == ["cordoned", "replacing", "ready"]
    assert (events[0]["node"], events[0]["machine"]) == ("a", "id-a")
    assert report == {
        "event": "report",
        "environment": "dev",
        "pool": "cpu",
        "target": "v2",
        "healthy": True,
        "replaced": 1,
        "nodes": {"n100": "current"},
        "reasons": {},
        "failed": {},
        "stopped": "",
        "interrupted": False,
    }


def test_all_hosts_are_a_pool(
    roll: Rolled, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hosts, "host_group", lambda *_: lambda _api: roll.cloud)
    roll.cloud.new("a")
    roll.cluster.nodes["a"]["metadata"]["labels"]["longhaul.dev/pool"] = "bare-metal"
    assert roll("--pool", "hosts") == Exit.OK
    assert capsys.readouterr().out == "dev, pool hosts, v2: 1 current; 0 replaced\n"


def test_nothing_to_do_is_well(roll: Rolled, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.new("a")
    assert roll() == Exit.OK
    assert capsys.readouterr().out == "dev, pool cpu, v2: 1 current; 0 replaced\n"
    assert roll.cloud.calls == []


def test_a_dry_run_changes_nothing(roll: Rolled, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.old("a", "b")
    roll.cluster.pod("job", "b")
    assert roll("--dry-run") == Exit.OK
    said = capsys.readouterr()
    assert "first of all: cordon a: no work runs on it" in said.err
    assert said.out.splitlines() == [
        "dev, pool cpu, v2: 1 free, 1 busy; 0 replaced",
        "  a  free",
        "  b  busy: works on team/job",
    ]
    assert roll.cloud.calls == []
    assert roll.cluster.leases == {}
    assert not any(node["spec"].get("unschedulable") for node in roll.cluster.nodes.values())


def test_a_failure_stops_it_and_says_so(roll: Rolled, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.old("a", "b")
    roll.cloud.joins = False
    assert roll("--json", "--within", "5m") == Exit.FAILED
    *_, report = lines(capsys.readouterr().out)
    assert report["healthy"] is False
    assert report["failed"] == {"n100": "it has not joined, after 5 min"}
    assert report["stopped"] == "1 failed, and 0 may"
    assert report["nodes"] == {"b": "free", "n100": "joining"}


def test_what_a_person_cordoned_is_named(roll: Rolled, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.old("a", "b")
    roll.cluster.patch("/api/v1/nodes/a", {"spec": {"unschedulable": True}})
    assert roll() == Exit.FAILED
    assert "  a  kept: somebody cordoned it\n" in capsys.readouterr().out
    assert roll.cloud.calls == ["replace b"]


@pytest.mark.parametrize("seconds", [0.5, 100.0])
def test_an_interrupted_one_is_gone_on_with_or_given_up(
    seconds: float, roll: Rolled, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when the node was cordoned after all of it had been examined: it is examined once more."""
    roll.cloud.old("a")
    roll.cluster.pod("job", "a")
    roll.at[seconds] = interrupt
    assert roll() == Exit.INTERRUPTED
    said = capsys.readouterr()
    assert "run it again to continue" in said.err
    assert "  a  waiting: works on team/job\n" in said.out
    assert roll.cluster.nodes["a"]["spec"]["unschedulable"] is True
    assert roll("--give-up") == Exit.OK
    assert "  a  busy: works on team/job\n" in capsys.readouterr().out
    assert "unschedulable" not in roll.cluster.nodes["a"]["spec"]
    assert roll.cluster.nodes["a"]["metadata"]["annotations"] == {}
    roll.cluster.finish("job")
    assert roll() == Exit.OK


def test_a_deadline_is_kept(roll: Rolled) -> None:
    roll.cloud.old("a")
    roll.cluster.pod("job", "a")
    assert roll("--deadline", "0s") == Exit.OK
    assert roll.cluster.evicted == ["job"]
    assert roll.cluster.seconds < 120


def test_a_share_of_a_small_pool_is_one(roll: Rolled) -> None:
    roll.cloud.old("a", "b", "c")
    assert roll("--share", "10%") == Exit.OK
    assert roll.cloud.most_out == 1


def test_two_rolls_of_a_pool_do_not_meet(roll: Rolled, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.old("a")
    roll.at[1.0] = lambda: codes.append(roll())
    codes: list[int] = []
    assert roll() == Exit.OK
    assert codes == [Exit.FAILED]
    assert "pool cpu is being rolled by" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ApiError("no route"), Exit.UNREACHABLE),
        (ApiError("forbidden", status=403), Exit.FAILED),
        (CloudError("no credential", passing=False), Exit.FAILED),
        (CloudError("no answer", passing=True), Exit.UNREACHABLE),
    ],
)
def test_who_does_not_answer(roll: Rolled, error: Exception, code: Exit, capsys: pytest.CaptureFixture[str]) -> None:
    roll.cloud.old("a")
    if isinstance(error, ApiError):
        roll.cluster.down = error
    else:
        roll.cloud.down = error  # type: ignore[assignment]
    assert roll() == code
    assert f"longhaul: {error}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--at-once", "0"), "'0' is no machine"),
        (("--at-once", "0%"), "'0%' is no machine"),
        (("--share", "110%"), "neither a number"),
        (("--deadline", "soon"), "'soon' is not a time"),
        (("--deadline", "6"), "'6' is not a time"),
        (("--budget", "-1"), "not a number of machines"),
        (("--dry-run", "--give-up"), "not allowed with"),
    ],
)
def test_wrong_usage(roll: Rolled, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        roll(*words)
    assert ended.value.code == Exit.USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("6h", 21600), ("2d", 172800), ("0s", 0)])
def test_times(text: str, seconds: int) -> None:
    assert duration(text) == timedelta(seconds=seconds)


def test_an_unknown_pool_is_wrong_usage(checkout: Checkout) -> None:
    checkout.gains_hosts()
    done = checkout.run("roll", "--env", "dev", "--pool", "gpu")
    assert done.returncode == Exit.USAGE
    assert "dev has no pool 'gpu' (pools: cpu, hosts)" in done.stderr
