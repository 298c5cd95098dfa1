"""The life of machines: disks, power, failures, commands, orphans."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from lab.cgroups import ControlGroup
from lab.desired import DesiredMachine, World
from lab.hypervisor.nspawn import leader_among
from tests.lab.hypervisor.conftest import Lab, curl, eventually, machine, network_one, user_data

pytestmark = pytest.mark.lab

FAILING = (
    b"#cloud-config\nlocale: C.UTF-8\nssh_genkeytypes: []\nwrite_files: [{path: /proc/nowhere/file, content: x}]\n"
)
WAITING = b"#cloud-config\nlocale: C.UTF-8\nssh_genkeytypes: []\nruncmd: ['until [ -e /run/go ]; do sleep 0.1; done']\n"


def world(*machines: DesiredMachine) -> World:
    return World(networks=(network_one(),), machines=machines)


def alpha(**more: Any) -> DesiredMachine:
    return machine("alpha", "10.1.0.4/24", **{"local_ssd_gib": 1, **more})


@pytest.fixture(scope="module")
def lab(make_lab: Callable[[str], Lab]) -> Lab:
    lab = make_lab("test-vm")
    lab.start()
    return lab


@pytest.fixture
def running(lab: Lab) -> Lab:
    lab.apply(world(alpha()))
    lab.await_phase("running", "alpha", generation="g1")
    return lab


BOOT = "cut -d ' ' -f 22 /proc/1/stat"
"""Prints the start time of the machine's process 1, which identifies a boot: the kernel is the host's."""


def await_another_boot(lab: Lab, before: str) -> None:
    """Wait for another boot. One command asks whether the machine answers and which boot it is: between two it might go
    down."""

    def another() -> bool:
        seen = lab.inside("alpha", BOOT, check=False)
        return seen.returncode == 0 and seen.stdout != before

    eventually(another, what="alpha has booted again")
    lab.await_phase("running", "alpha")


def boot_id(lab: Lab) -> str:
    return lab.inside("alpha", BOOT).stdout


def leader(lab: Lab) -> int:
    pid = leader_among(ControlGroup.of(lab.state, "alpha").members())
    assert pid is not None
    return pid


def test_a_machine_is_who_it_should_be(running: Lab) -> None:
    lines = running.inside("alpha", "hostname; cat /etc/resolv.conf; cat /etc/machine-id").stdout.splitlines()
    assert lines[:2] == ["alpha", "nameserver 168.63.129.16"]
    assert len(lines[2]) == 32
    assert "LONGHAUL" not in running.inside("alpha", "env").stdout


def test_the_labs_ca_is_trusted_also_after_an_update(running: Lab) -> None:
    running.inside("alpha", "update-ca-certificates --fresh")
    assert running.inside("alpha", curl("https://management.azure.com/")).returncode == 0


def test_a_reboot_keeps_both_disks(running: Lab) -> None:
    before = boot_id(running)
    running.inside(
        "alpha", "echo kept > /root/kept; echo kept > /var/lib/longhaul/ssd/kept; systemctl reboot", check=False
    )
    await_another_boot(running, before)
    assert running.inside("alpha", "cat /root/kept /var/lib/longhaul/ssd/kept").stdout == "kept\nkept\n"


def test_a_machine_that_powers_itself_off_stays_off(running: Lab) -> None:
    running.inside("alpha", "systemctl poweroff", check=False)
    running.await_phase("stopped", "alpha")
    assert running.machine("alpha")["reason"] == "powered itself off"
    running.lab("power", "alpha", "on")
    running.await_phase("running", "alpha")


def test_a_machine_that_crashes_is_started_again(running: Lab) -> None:
    before = boot_id(running)
    os.kill(leader(running), signal.SIGKILL)
    await_another_boot(running, before)


def test_power_off_and_cut_last_until_on(running: Lab) -> None:
    for action in ("off", "cut"):
        running.inside("alpha", "echo kept > /var/lib/longhaul/ssd/kept; sync")
        running.lab("power", "alpha", action)
        running.await_phase("stopped", "alpha")
        assert running.lab("shell", "alpha", "--", "true", check=False).returncode == 1
        running.lab("power", "alpha", "on")
        running.await_phase("running", "alpha")
        assert running.inside("alpha", "cat /var/lib/longhaul/ssd/kept").stdout == "kept\n"


@pytest.mark.parametrize("action", ["cut", "reset"])
def test_what_was_not_synced_is_lost_with_the_power(running: Lab, action: str) -> None:
    before = boot_id(running)
    disk = "/var/lib/longhaul/ssd"
    written = f"echo kept > synced; sync {disk}/synced {disk}; echo lost > unsynced"
    running.inside("alpha", f"cd {disk}; rm -f *synced; {written}")
    running.lab("power", "alpha", action)
    if action == "cut":
        running.await_phase("stopped", "alpha")
        running.lab("power", "alpha", "on")
    await_another_boot(running, before)
    assert running.inside("alpha", f"cd {disk}; cat *synced").stdout == "kept\n"


def test_the_local_disk_can_stall(running: Lab) -> None:
    disk = "/var/lib/longhaul/ssd"
    waits = "until grep -q ') D ' /proc/$!/stat; do sleep 0.1; done"
    running.inside("alpha", f"fsfreeze --freeze {disk}")
    try:
        running.inside("alpha", f"sh -c 'echo written > {disk}/stalled' > /dev/null 2>&1 & {waits}")
    finally:
        running.inside("alpha", f"fsfreeze --unfreeze {disk}")
    assert running.inside("alpha", f"sync; cat {disk}/stalled").stdout == "written\n"


def test_no_loop_device_outlives_its_machine(running: Lab) -> None:
    image = str(running.state.machines / "alpha" / "ssd.img")
    devices = [line.split()[0] for line in _backing_files().splitlines() if image in line]
    assert len(devices) == 1
    running.apply(world())
    running.await_phase("absent", "alpha")
    eventually(lambda: image not in _backing_files(), what="the device is free")


def _backing_files() -> str:
    return subprocess.run(["losetup", "--list"], capture_output=True, text=True, check=True).stdout


def test_a_machine_that_started_later_keeps_no_disk_in_use(running: Lab) -> None:
    later = machine("later", "10.1.0.8/24", local_ssd_gib=1)
    running.apply(world(alpha(), later))
    running.await_phase("running", "later")
    image = str(running.state.machines / "alpha" / "ssd.img")
    running.lab("power", "alpha", "cut")
    running.await_phase("stopped", "alpha")
    eventually(lambda: image not in _backing_files(), what="the disk is in nobody's use")
    running.lab("power", "alpha", "on")
    running.await_phase("running", "alpha")
    running.apply(world(alpha()))
    running.await_phase("absent", "later")


def test_reset_boots_again(running: Lab) -> None:
    before = boot_id(running)
    running.lab("power", "alpha", "reset")
    await_another_boot(running, before)


def test_power_of_a_machine_that_is_not_there(lab: Lab) -> None:
    result = lab.lab("power", "nobody", "off", check=False)
    assert result.returncode == 1
    assert "there is no machine 'nobody'" in result.stderr


def test_deallocation_loses_the_local_disk_and_keeps_the_other(running: Lab) -> None:
    running.inside("alpha", "echo kept > /root/kept; echo lost > /var/lib/longhaul/ssd/lost")
    running.apply(world(alpha(running=False, deallocated=True)))
    running.await_phase("stopped", "alpha")
    running.apply(world(alpha()))
    running.await_phase("running", "alpha")
    assert running.inside("alpha", "cat /root/kept; ls -I lost+found /var/lib/longhaul/ssd").stdout == "kept\n"


def test_a_new_generation_starts_afresh(running: Lab) -> None:
    running.inside("alpha", "echo old > /root/old; echo old > /var/lib/longhaul/ssd/old")
    identity = running.inside("alpha", "cat /etc/machine-id").stdout
    fresh = alpha(generation="g2", user_data=user_data("touch /root/second"))
    running.apply(world(fresh))
    running.await_phase("running", "alpha", generation="g2")
    assert running.inside("alpha", "ls -I lost+found /root /var/lib/longhaul/ssd").stdout.split() == [
        "/root:",
        "second",
        "/var/lib/longhaul/ssd:",
    ]
    assert running.inside("alpha", "cat /etc/machine-id").stdout != identity
    assert running.inside("alpha", curl("http://169.254.169.254/")).stdout.endswith(": 10.1.0.4\n")


def test_a_guest_reports_before_its_user_data_is_processed(lab: Lab) -> None:
    lab.apply(world(machine("slow", "10.1.0.7/24", user_data=WAITING)))
    eventually(lambda: lab.machine("slow")["reported"], what="slow reports")
    assert lab.machine("slow")["phase"] == "starting"
    lab.inside("slow", "touch /run/go")
    lab.await_phase("running", "slow")
    lab.apply(world())
    lab.await_phase("absent", "slow")


def test_a_failed_cloud_init_is_said(lab: Lab) -> None:
    lab.apply(world(machine("broken", "10.1.0.6/24", user_data=FAILING)))
    eventually(lambda: _failed(lab, "broken", "write-files"), what="broken says why it failed")
    assert lab.lab("status", check=False).returncode == 1
    lab.apply(world())
    lab.await_phase("absent", "broken")


def _failed(lab: Lab, name: str, reason: str) -> bool:
    seen = lab.machine(name)
    return seen["phase"] == "failed" and reason in seen["reason"]


def test_a_machine_in_no_subnet_fails_and_stops_no_other(lab: Lab) -> None:
    lab.apply(world(alpha(), machine("lost", "10.1.9.6/24")))
    # Both in one question: the machine is retried repeatedly, and while it is there is no reason to show.
    eventually(lambda: _failed(lab, "lost", "10.1.9.6 is in no subnet of one"), what="lost says why it failed")
    lab.await_phase("running", "alpha", generation="g1")


def test_a_removed_machine_leaves_nothing(running: Lab) -> None:
    running.apply(world())
    running.await_phase("absent", "alpha")
    assert not (running.state.machines / "alpha").exists()
    assert not ControlGroup.of(running.state, "alpha").exists()
    links = running.enter("nsenter", f"--net={running.namespace('internet')}", "ip", "-br", "link").stdout
    assert "m-alpha" not in links


def test_a_shell_passes_exit_code_and_input(running: Lab) -> None:
    assert running.inside("alpha", "exit 7", check=False).returncode == 7
    result = running.lab("shell", "alpha", "--", "cat", input="through\n")
    assert result.stdout == "through\n"


def test_an_unknown_machine_has_no_shell(lab: Lab) -> None:
    result = lab.lab("shell", "nobody", check=False)
    assert result.returncode == 1
    assert "machine 'nobody' is not running" in result.stderr


def test_a_command_of_the_clouds_agent(running: Lab) -> None:
    assert agent(running, "hostname; echo complaint >&2; exit 3") == {"code": 3, "out": "alpha\n", "err": "complaint\n"}
    # Its standard input is empty, and the script may be long.
    assert agent(running, "cat\n#" + "x" * 300_000 + "\necho done")["out"] == "done\n"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(running: Lab) -> None:
    answer = agent(running, "sleep 1234 & sleep 1234", timeout_s=0.5)
    assert answer["code"] == 124
    assert "ended after 0.5 s" in str(answer["err"])
    assert running.inside("alpha", "pgrep -f 'sleep 123[4]'", check=False).returncode == 1


def agent(lab: Lab, script: str, *, timeout_s: float = 20) -> dict[str, object]:
    asked = lab.state.directory / "asked.json"
    asked.write_text(json.dumps({"id": "/VM/Alpha", "script": script, "timeout_s": timeout_s}))
    network = f"/proc/{lab.pid()}/root/run/longhaul/netns/vm-alpha"
    argv = ["nsenter", f"--net={network}", *curl("http://169.254.169.254/run", wait_s=30).split()]
    argv += ["--data-binary", f"@{asked}", "-H", "Content-Type: application/json"]
    answer = subprocess.run(argv, capture_output=True, text=True, check=True)
    return dict(json.loads(answer.stdout))
