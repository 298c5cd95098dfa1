"""``longhaul hosts``: the hosts and their order, what stops it, and its report of each host."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, Checkout, FakeEngine
from tests.longhaul.fake_ansible import FakeAnsible

RACK = ("hosts", "--env", "dev")
OK = {"state": "ok"}


def failed(*messages: str, role: str | None = "node", state: str = "failed") -> dict[str, Any]:
    return {"state": state, "failed": {"task": "Do it", "role": role, "messages": list(messages)}}


@pytest.fixture(name="six")
def _six(checkout: Checkout, ansible: FakeAnsible) -> tuple[str, ...]:
    """Two gateways and four nodes, all of them healthy."""
    raw = checkout.environment()
    raw["sites"]["rack"]["gateways"].append({"name": "gw-1", "public_address": "198.51.100.21"})
    checkout.write(raw)
    hosts = [{"name": f"node-{index}", "site": "rack"} for index in range(4)]
    (checkout.path / "stacks" / raw["bare_metal"]).write_text(yaml.safe_dump({"hosts": hosts}))
    names = ("gw-0", "gw-1", *(host["name"] for host in hosts))
    ansible.finds(**{f"dev-{name}": OK for name in names})
    return tuple(f"dev-{name}" for name in names)


def limits(ansible: FakeAnsible) -> list[str | None]:
    """Return the ``--limit`` of every run."""
    return [words[words.index("--limit") + 1] if "--limit" in words else None for words in ansible.all_words()]


def test_all_hosts_in_one_run_of_the_racks_playbook(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0={"state": "changed", "changed": 3, "seconds": 12.0})
    done = checkout.run(*RACK)
    assert done.returncode == Exit.OK, done.stderr
    assert [Path(words[-1]).name for words in ansible.all_words()] == ["site.yml"]
    assert limits(ansible) == [None]
    assert done.stdout.splitlines()[-3:] == [
        "dev-gw-0    ready        1 s",
        "dev-node-0  changed      3 changes, 12 s",
        "dev: 1 ready, 1 changed",
    ]
    assert ansible.told()["KUBECONFIG"] == "/given/kubeconfig"
    assert ansible.told()["LONGHAUL_SSH_IMPATIENT"], "a host that is off is told within ten seconds"


def test_as_json_there_is_an_object_for_each_host_and_nothing_else(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0=failed("no room", "at all"))
    done = checkout.run(*RACK, "--json", "--profile")
    assert done.returncode == Exit.FAILED
    found = json.loads(done.stdout)
    assert found["healthy"] is False
    assert found["hosts"]["dev-gw-0"]["state"] == "ready"
    assert found["hosts"]["dev-node-0"] == {
        "state": "failed",
        "changed": 0,
        "task": "Do it",
        "role": "node",
        "messages": ["no room", "at all"],
        "seconds": 1.0,
    }
    assert found["tasks"]["node : wait"] == {"hosts": 2, "seconds": 2.5, "slowest": 1.5}
    assert "a task" in done.stderr


def test_a_failure_is_said_with_its_task_and_message(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0=failed("no room\nat all"))
    done = checkout.run(*RACK)
    assert done.returncode == Exit.FAILED
    assert done.stdout.splitlines()[-4:] == [
        "dev-node-0  failed       at node : Do it",
        "                         no room",
        "                         at all",
        "dev: 1 ready, 1 failed",
    ]


def test_a_host_that_is_held_is_told_and_has_not_failed(
    six: tuple[str, ...], checkout: Checkout, ansible: FakeAnsible
) -> None:
    held = {"state": "held", "hold_reasons": ["kubelet 1.30.2 -> 1.30.3"]}
    ansible.finds(**dict.fromkeys(six[:2], OK), **dict.fromkeys(six[2:], held))
    done = checkout.run(*RACK, "--batch", "1")
    assert done.returncode == Exit.FAILED
    assert len(limits(ansible)) == 6
    assert done.stdout.splitlines()[-2:] == [
        "dev-node-3  held         kubelet 1.30.2 -> 1.30.3",
        "dev: 2 ready, 4 held",
    ]


def test_what_preflight_refuses_is_said_whole(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0=failed("its disk is full", "its clock is off", role="preflight"))
    done = checkout.run(*RACK, "--preflight")
    assert done.returncode == Exit.FAILED
    assert [Path(words[-1]).name for words in ansible.all_words()] == ["preflight.yml"]
    assert ansible.told()["KUBECONFIG"] == ""
    assert done.stdout.splitlines()[-4:] == [
        "dev-gw-0    fit          1 s",
        "dev-node-0  refused      its disk is full",
        "                         its clock is off",
        "dev: 1 fit, 1 refused",
    ]


def test_a_wrong_host_key_is_no_matter_of_reachability(checkout: Checkout, ansible: FakeAnsible) -> None:
    said = "Failed to connect to the host via ssh: …\r\nSHA256:tA6h96m/+c.\r\n…\r\nHost key verification failed."
    ansible.finds(dev_gw_0=OK, dev_node_0=failed(said, role="preflight", state="unreachable"))
    done = checkout.run(*RACK, "--json")
    assert done.returncode == Exit.FAILED
    verdict = json.loads(done.stdout)["hosts"]["dev-node-0"]
    assert verdict["state"] == "refused"
    assert "hosts, node-0, in stacks/" in verdict["messages"][0]
    assert ", SHA256:tA6h96m/+c, is not" in verdict["messages"][0]


@pytest.mark.parametrize(
    ("gateway", "code"), [(OK, Exit.FAILED), (failed("no", state="unreachable"), Exit.UNREACHABLE)]
)
def test_3_is_for_when_nothing_can_be_reached(
    checkout: Checkout, ansible: FakeAnsible, gateway: dict[str, Any], code: Exit
) -> None:
    ansible.finds(dev_gw_0=gateway, dev_node_0=failed("no route", state="unreachable"))
    assert checkout.run(*RACK).returncode == code


def test_a_host_that_nothing_is_heard_of_is_not_ready(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0=None)
    done = checkout.run(*RACK)
    assert done.returncode == Exit.FAILED
    assert "dev-node-0  unfinished   ansible-playbook ended with 2 before it did" in done.stdout


def test_an_ansible_that_leaves_no_account_has_made_nobody_ready(checkout: Checkout, ansible: FakeAnsible) -> None:
    done = checkout.run(*RACK, "--json")
    assert done.returncode == Exit.FAILED
    assert {host["state"] for host in json.loads(done.stdout)["hosts"].values()} == {"unfinished"}


def test_options_are_passed_on(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0={"state": "changed", "changed": 1})
    done = checkout.run(*RACK, "--check", "--diff", "--", "-v")
    assert ansible.told()["words"][2:-1] == ["--check", "--diff", "-v"]
    assert "to change    1 change, 1 s" in done.stdout


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("nodes", "dev-node-0,dev-node-1,dev-node-2,dev-node-3"),
        ("dev-node-?,!dev-node-1", "dev-node-0,dev-node-2,dev-node-3"),
        ("nodes[1:2]", "dev-node-1,dev-node-2"),
        ("site_rack:!nodes", "dev-gw-0,dev-gw-1"),
        ("~.*-[03]$", "dev-gw-0,dev-node-0,dev-node-3"),
    ],
)
def test_patterns_are_ansibles(
    checkout: Checkout, ansible: FakeAnsible, six: tuple[str, ...], pattern: str, chosen: str
) -> None:
    assert checkout.run(*RACK, "--limit", pattern).returncode == Exit.OK
    assert limits(ansible) == [chosen]


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "dev-nod-1"),
        ("--limit", "nodes:!dev-nod-1"),
        ("--limit", "nodes:!nodes"),
        ("--limit", "node-1"),
        ("--batch", "some"),
        ("--batch", "0%"),
        ("--batch", "101%"),
        ("--budget", "1"),
        ("--preflight", "--check"),
    ],
)
def test_what_means_nothing_is_wrong_usage_and_nothing_is_run(
    checkout: Checkout, ansible: FakeAnsible, six: tuple[str, ...], words: tuple[str, ...]
) -> None:
    done = checkout.run(*RACK, *words)
    assert done.returncode == Exit.USAGE
    assert words[0] in done.stderr
    assert ansible.all_words() == []


def test_gateways_take_turns_before_any_node(checkout: Checkout, ansible: FakeAnsible, six: tuple[str, ...]) -> None:
    assert checkout.run(*RACK, "--batch", "50%").returncode == Exit.OK
    assert limits(ansible) == ["dev-gw-0", "dev-gw-1", "dev-node-0,dev-node-1", "dev-node-2,dev-node-3"]


@pytest.mark.parametrize(
    ("budget", "runs"),
    [((), 4), (("--budget", "1"), 5), (("--budget", "20%"), 5), (("--budget", "2"), 6)],
)
def test_it_stops_when_more_failed_than_may(
    checkout: Checkout, ansible: FakeAnsible, six: tuple[str, ...], budget: tuple[str, ...], runs: int
) -> None:
    states = dict.fromkeys(six, OK) | {"dev-node-1": failed("no"), "dev-node-2": failed("no")}
    ansible.finds(**states)
    done = checkout.run(*RACK, "--json", "--batch", "1", *budget)
    assert done.returncode == Exit.FAILED
    assert len(ansible.all_words()) == runs
    hosts = json.loads(done.stdout)["hosts"]
    assert [host["state"] for host in hosts.values()].count("not-begun") == len(six) - runs
    assert list(hosts) == list(six)


def test_an_interrupt_ends_it_and_the_rest_is_left(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible, six: tuple[str, ...], tmp_path: Path
) -> None:
    ansible.waits()
    with (tmp_path / "out").open("wb") as out:
        process = checkout.start(*RACK, "--json", "--batch", "2", stdout=out)
        waiting, deadline = engine.folder / "ansible-waiting", time.monotonic() + LIMIT_S
        while not (waiting.exists() and waiting.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert limits(ansible) == ["dev-gw-0"]
    states = [host["state"] for host in json.loads((tmp_path / "out").read_text())["hosts"].values()]
    assert states == ["unfinished", *["not-begun"] * 5]


def test_an_environment_without_racks_has_nothing_for_it(checkout: Checkout, ansible: FakeAnsible) -> None:
    raw = checkout.environment()
    raw["sites"] = {name: site for name, site in raw["sites"].items() if site["kind"] != "onprem"}
    del raw["bare_metal"]
    checkout.write(raw)
    done = checkout.run(*RACK)
    assert done.returncode == Exit.USAGE
    assert "neither" in done.stderr


def test_the_slowest_tasks_are_shown_when_asked_for(checkout: Checkout, ansible: FakeAnsible) -> None:
    ansible.finds(dev_gw_0=OK, dev_node_0=OK)
    assert "node : wait" not in checkout.run(*RACK).stdout
    assert "           1.5           2.5      2  node : wait" in checkout.run(*RACK, "--profile").stdout
