"""Virtual machines: provisioning, deletion, power, run command."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Literal

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from lab.cloud.azure.immutable import fixed_properties
from lab.cloud.azure.resource_types import known_types
from lab.desired import CommandResult, MachineState
from tests.lab.cloud import estate
from tests.lab.cloud.conftest import Live
from tests.support.ssh_keys import openssh, ssh_key


def prepared(live: Live) -> None:
    estate.build(live, with_machine=False)


def state(live: Live) -> str:
    return str(live.arm("GET", estate.VM).json()["properties"]["provisioningState"])


def powers(live: Live) -> list[str]:
    view = live.arm("GET", estate.VM, **{"$expand": "instanceView"}).json()["properties"]["instanceView"]
    return [status["code"] for status in view["statuses"]]


def test_a_machine_is_being_made_until_it_runs(live: Live) -> None:
    prepared(live)
    live.hypervisor.hold = asyncio.Event()
    response = live.arm("PUT", estate.VM, estate.machine())
    assert response.status_code == 201
    assert response.json()["properties"]["provisioningState"] == "Creating"
    url = response.headers["Azure-AsyncOperation"].removeprefix("https://management.azure.com")
    assert re.match(r"^/subscriptions/[^/]+/providers/Microsoft\.Compute/locations/westeurope/operations/[^/?]+\?", url)
    assert state(live) == "Creating"
    assert live.arm("GET", url.split("?")[0]).json()["status"] == "InProgress"
    live._loop.call_soon_threadsafe(live.hypervisor.hold.set)
    assert live.wait(response)["status"] == "Succeeded"
    assert state(live) == "Succeeded"
    assert powers(live) == ["ProvisioningState/succeeded", "PowerState/running"]


def test_a_machine_that_does_not_come_up_says_why(live: Live) -> None:
    prepared(live)
    live.hypervisor.phases["api-0"] = MachineState(phase="failed", reason="no such disk")
    ended = live.wait(live.arm("PUT", estate.VM, estate.machine()))
    assert ended["status"] == "Failed"
    assert "no such disk" in ended["error"]["message"]
    assert state(live) == "Failed"
    live.hypervisor.phases.clear()
    assert live.wait(live.arm("PUT", estate.VM, estate.machine()))["status"] == "Succeeded"
    assert state(live) == "Succeeded"


@pytest.mark.parametrize("phase", ["starting", "failed"])
def test_a_creation_ends_when_the_guest_reports_whatever_its_user_data_does(
    live: Live, phase: Literal["starting", "failed"]
) -> None:
    prepared(live)
    live.hypervisor.phases["api-0"] = MachineState(phase=phase, reason="cloud-init: no such file", reported=True)
    assert live.wait(live.arm("PUT", estate.VM, estate.machine()))["status"] == "Succeeded"
    assert powers(live) == ["ProvisioningState/succeeded", "PowerState/running"]


def test_a_machine_made_again_is_another_one(live: Live) -> None:
    estate.build(live)
    first = live.hypervisor.world.machines[0]
    response = live.arm("DELETE", estate.VM)
    assert response.status_code == 202
    live.wait(response)
    assert live.hypervisor.world.machines == ()
    live.put(estate.VM, estate.machine(data=b"other"))
    second = live.hypervisor.world.machines[0]
    assert (second.id, second.name) == (first.id, first.name)
    assert second.generation != first.generation
    assert second.user_data == b"other"


def test_the_disk_of_a_machine_that_failed_bars_the_next_of_its_name_only(live: Live) -> None:
    prepared(live)
    live.hypervisor.phases["api-0"] = MachineState(phase="failed", reason="cloud-init: no such file")
    named = estate.machine()
    named["properties"]["storageProfile"]["osDisk"]["name"] = "api-0"
    live.wait(live.arm("PUT", estate.VM, named))
    live.wait(live.arm("DELETE", estate.VM))
    refused = live.arm("PUT", estate.VM, named)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ConflictingUserInput")
    live.hypervisor.phases.clear()
    disk = live.put(estate.VM, estate.machine())["properties"]["storageProfile"]["osDisk"]["name"]
    assert disk.startswith("api-0_OsDisk_1_")
    assert live.put(estate.VM, estate.machine())["properties"]["storageProfile"]["osDisk"]["name"] == disk


def test_creation_goes_on_after_a_restart(live: Live) -> None:
    prepared(live)
    live.hypervisor.hold = asyncio.Event()
    response = live.arm("PUT", estate.VM, estate.machine())
    live.stop()
    live.hypervisor.hold = None
    live.start()
    assert live.wait(response)["status"] == "Succeeded"
    assert state(live) == "Succeeded"


def test_a_world_that_cannot_be_applied_is_tried_again(live: Live) -> None:
    prepared(live)
    live.hypervisor.broken = 1
    live.put(estate.VM, estate.machine())
    assert [machine.name for machine in live.hypervisor.world.machines] == ["api-0"]


def test_power(live: Live) -> None:
    estate.build(live)
    for action, power, running in (
        ("powerOff", "PowerState/stopped", False),
        ("start", "PowerState/running", True),
        ("deallocate", "PowerState/deallocated", False),
        ("start", "PowerState/running", True),
        ("restart", "PowerState/running", True),
    ):
        response = live.arm("POST", f"{estate.VM}/{action}", token=live.owner())
        assert response.status_code == 202
        live.wait(response)
        assert powers(live)[1] == power
        assert live.hypervisor.world.machines[0].running == running


def test_a_start_presses_the_switch_that_a_hand_has_pressed(live: Live) -> None:
    estate.build(live)
    live.hypervisor.phases["api-0"] = MachineState(phase="stopped", reason="switched off")
    assert powers(live)[1] == "PowerState/stopped"
    live.wait(live.arm("POST", f"{estate.VM}/start"))
    assert powers(live)[1] == "PowerState/running"


def test_run_command_answers_as_linux_does(live: Live) -> None:
    """The answer has one status, with both streams in its message, each cut to its last 4,096 bytes, and no exit
    code."""
    estate.build(live)
    live.hypervisor.result = CommandResult(exit_code=7, stdout="x" * 5000 + "end\n", stderr="oops\n")
    response = live.arm(
        "POST", f"{estate.VM}/runCommand", {"commandId": "RunShellScript", "script": ["echo a", "exit 7"]}
    )
    output = live.wait(response)["properties"]["output"]
    assert list(output) == ["value"]
    (status,) = output["value"]
    assert status["code"] == "ProvisioningState/succeeded"
    stdout, stderr = re.fullmatch(
        r"Enable succeeded: \n\[stdout\]\n(.*)\n\[stderr\]\n(.*)", status["message"], re.DOTALL
    ).groups()
    assert (len(stdout), stdout[-4:], stderr) == (4096, "end\n", "oops\n")
    assert live.hypervisor.commands == [(estate.VM.lower(), "echo a\nexit 7\n")]
    monitor = live.arm("GET", response.headers["Location"].split("azure.com")[1].split("?")[0], monitor="true")
    assert monitor.json() == output


@pytest.mark.parametrize(
    "body",
    [
        {"commandId": "RunPowerShellScript", "script": ["x"]},
        {"commandId": "RunShellScript"},
        {"commandId": "RunShellScript", "script": ["x"], "parameters": []},
    ],
)
def test_run_command_refuses_what_it_does_not_do(built: Live, body: Any) -> None:
    assert built.arm("POST", f"{estate.VM}/runCommand", body).status_code == 400


def test_commands_need_a_running_machine(live: Live) -> None:
    estate.build(live)
    live.wait(live.arm("POST", f"{estate.VM}/powerOff", token=live.owner()))
    response = live.arm("POST", f"{estate.VM}/runCommand", {"commandId": "RunShellScript", "script": ["true"]})
    assert response.status_code == 409


@pytest.mark.parametrize(
    ("change", "target"),
    [
        ({"data": b"changed"}, "osProfile.customData"),
        ({"zones": ["2"]}, "zones"),
        ({"location": "northeurope"}, None),
    ],
)
def test_what_azure_does_not_change_is_refused(built: Live, change: dict[str, Any], target: str | None) -> None:
    body = {**estate.machine(), "identity": built.arm("GET", estate.VM).json()["identity"]}
    changed = (
        {**body, **change}
        if "data" not in change
        else {**estate.machine(data=change["data"]), "identity": body["identity"]}
    )
    response = built.arm("PUT", estate.VM, changed)
    if target:
        assert response.status_code == 409
        assert response.json()["error"]["code"] == "PropertyChangeNotAllowed"
        assert response.json()["error"]["target"] == target
    else:
        assert response.status_code in (400, 409)


@pytest.mark.parametrize(
    ("key", "taken"),
    [
        (ssh_key(2048), True),
        (ssh_key(1024), False),
        (ssh_key(2048)[:80], False),
        (openssh(ed25519.Ed25519PrivateKey.generate()), True),
        (openssh(ec.generate_private_key(ec.SECP256R1())), False),
    ],
    ids=["rsa", "short rsa", "half a key", "ed25519", "ecdsa"],
)
def test_keys_that_azure_does_not_take_are_refused(live: Live, key: str, taken: bool) -> None:
    estate.build(live, with_machine=False)
    body = estate.machine()
    body["properties"]["osProfile"]["linuxConfiguration"]["ssh"] = {
        "publicKeys": [{"path": ".ssh/authorized_keys", "keyData": key}]
    }
    response = live.arm("PUT", estate.VM, body)
    assert (response.status_code in (200, 201)) is taken
    if not taken:
        error = response.json()["error"]
        assert (error["code"], error["target"]) == ("InvalidParameter", "linuxConfiguration.ssh.publicKeys.keyData")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (None, {"securityType": "TrustedLaunch", "uefiSettings": {"secureBootEnabled": True, "vTpmEnabled": True}}),
        ({"securityType": "Standard"}, {"securityType": "Standard"}),
    ],
)
def test_a_machine_has_trusted_launch_unless_its_type_is_named(live: Live, sent: Any, kept: Any) -> None:
    """azure-compute-docs ``trusted-launch.md``, "Trusted Launch as default". A later PUT changes no type."""
    estate.build(live, with_machine=False)
    body = estate.machine()
    if sent:
        body["properties"]["securityProfile"] = sent
    assert live.put(estate.VM, body)["properties"]["securityProfile"] == kept
    plain = estate.machine()
    plain["properties"]["securityProfile"] = {"encryptionAtHost": True}
    assert live.put(estate.VM, plain)["properties"]["securityProfile"] == {"encryptionAtHost": True, **kept}


def test_a_put_without_custom_data_keeps_it(live: Live) -> None:
    estate.build(live)
    shown = live.arm("GET", estate.VM).json()
    shown["tags"] = {"a": "b"}
    live.put(estate.VM, shown)
    assert live.hypervisor.world.machines[0].user_data == b"#cloud-config\n"


def test_every_entry_of_the_table_is_sourced_and_about_a_known_type() -> None:
    types = {spec.type for spec in known_types().values()} | {"*"}
    for fixed in fixed_properties():
        assert fixed.type in types
        assert "learn.microsoft.com" in fixed.source or "pulumi-azure-native" in fixed.source
