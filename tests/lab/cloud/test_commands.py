"""Run commands: one at a time in a machine, twenty seconds at least, and a way out for the result."""

from __future__ import annotations

import subprocess
import threading
from typing import Any

import pytest

from clouds.azure.api import BUSY, AzureApi, packing
from clouds.azure.errors import AzureError
from lab.cloud.azure.commands import LEAST_S, LIMIT_S
from lab.desired import CommandResult
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import SUBSCRIPTION, Live, SlowLive
from tests.lab.cloud.links import code

COMMAND = {"commandId": "RunShellScript", "script": ["true"]}


def run(live: Live) -> Any:
    return live.arm("POST", f"{estate.VM}/runCommand", COMMAND)


def ran(script: str) -> CommandResult:
    """Return what a script says in a shell."""
    done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    return CommandResult(exit_code=0, stdout=done.stdout, stderr=done.stderr)


def test_an_answer_that_azure_would_cut_arrives_whole(live: Live) -> None:
    estate.build(live)
    script = "for number in $(seq 1000); do echo unit $number runs; done # all of them"
    live.hypervisor.result = ran(packing(script))
    output = AzureApi(subscription=SUBSCRIPTION).run_command("lab", "api-0", script)
    assert output.stdout.splitlines() == [f"unit {number} runs" for number in range(1, 1001)]
    assert live.hypervisor.commands[-1][1].strip() == packing(script)


def test_an_answer_that_is_too_long_all_the_same_is_told(live: Live) -> None:
    estate.build(live)
    live.hypervisor.result = ran(packing("head -c 9000 /dev/urandom"))
    with pytest.raises(AzureError, match="longer than Azure keeps"):
        AzureApi(subscription=SUBSCRIPTION).run_command("lab", "api-0", "head -c 9000 /dev/urandom")


def status(live: Live, response: Any) -> dict[str, Any]:
    """Return an operation as it is now."""
    path = response.headers["Azure-AsyncOperation"].removeprefix("https://management.azure.com").split("?")[0]
    answer: dict[str, Any] = live.arm("GET", path).json()
    return answer


def test_a_command_takes_twenty_seconds_and_another_one_waits_for_it(slow: SlowLive) -> None:
    estate.build(slow)
    first = run(slow)
    slow.turn(LEAST_S - 1)
    assert status(slow, first)["status"] == "InProgress"
    refused = run(slow)
    assert (refused.status_code, code(refused)) == (409, BUSY)
    slow.turn(1)
    Live.wait(slow, first)
    assert len(slow.hypervisor.commands) == 1, "what is refused is not run"
    assert run(slow).status_code == 202


def test_the_program_waits_for_another_ones_command(slow: SlowLive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two operators look at the same machine: the second one's command begins when the first one's has ended."""
    estate.build(slow)
    slow.hypervisor.result = ran(packing("echo out"))
    first, looked = run(slow), threading.Event()
    monkeypatch.setattr("clouds.azure.api.BUSY_S", 0.01)
    monkeypatch.setattr("clouds.azure.resource_manager._requested_pause", lambda _: looked.set() or 0.01)
    found: list[str] = []
    second = threading.Thread(
        target=lambda: found.append(AzureApi(subscription=SUBSCRIPTION).run_command("lab", "api-0", "true").stdout)
    )
    second.start()
    slow.turn(LEAST_S)
    Live.wait(slow, first)
    assert looked.wait(30)
    slow.turn(LEAST_S)
    second.join(30)
    assert found == ["out"]


def test_a_command_that_was_lost_with_the_daemon_keeps_nobody_waiting(slow: SlowLive) -> None:
    estate.build(slow)
    lost = run(slow)
    slow.stop()
    slow.start()
    assert status(slow, lost)["error"]["code"] == "OperationPreempted"
    assert run(slow).status_code == 202


def test_a_command_without_a_way_out_is_run_and_its_result_never_comes(slow: SlowLive) -> None:
    estate.build(slow)
    slow.put(estate.SUBNET, estate.subnet(networkSecurityGroup={"id": estate.NSG}))
    being_run = run(slow)
    slow.turn(LIMIT_S - 1)
    assert status(slow, being_run)["status"] == "InProgress"
    assert slow.hypervisor.commands == [(estate.VM.lower(), "true\n")]
    slow.turn(1)
    Live.wait(slow, being_run)
    assert status(slow, being_run)["error"]["code"] == "VMExtensionProvisioningTimeout"
