"""The script that looks at services, under a real systemd: services that fail, crash, or were stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab import image, packages
from longhaul.toolchain.cache import remove
from longhaul.toolchain.trees import copy_system
from tests.playbooks.test_scripts import ROLES
from tests.support.nspawn_machine import NspawnMachine, booted

pytestmark = pytest.mark.lab

UNITS = "/run/systemd/system"
CRASH = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart={command}\n{more}\n"
SERVICES = {
    "longhaul-fails": CRASH.format(command="/bin/sh -c 'echo first; echo out of luck; exit 3'", more=""),
    "longhaul-absent": CRASH.format(command="/nowhere", more=""),
    "longhaul-crashes": CRASH.format(
        command="/bin/sh -c 'echo again; exit 1'", more="Restart=always\nRestartSec=200ms"
    ),
    "longhaul-runs": CRASH.format(command="sleep infinity", more=""),
}


@pytest.fixture(scope="module", name="machine")
def _machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NspawnMachine]:
    """A node's image, booted, which was set up as a node and joins no cluster."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = tmp_path_factory.mktemp("machine")
    packages.ensure(packages.C, log_dir=folder, progress=print)
    copy_system(image.bake(log_dir=folder, progress=print).node, folder / "root")
    with booted(folder / "root", folder) as machine:
        yield machine
    remove(folder / "root")


def services(machine: NspawnMachine) -> dict[str, str]:
    """Return the sentence about each service."""
    script = (ROLES / "preflight" / "files" / "units.sh").read_text(encoding="utf-8")
    lines = machine.run(f"sh -s <<'LONGHAUL'\n{script}\nLONGHAUL").stdout.splitlines()
    return dict(line.removeprefix("unhealthy ").split(".service ", 1) for line in lines)


def test_a_sentence_has_what_systemd_says_and_what_the_service_wrote(machine: NspawnMachine) -> None:
    for name, text in SERVICES.items():
        machine.run(f"cat >{UNITS}/{name}.service <<'END'\n{text}END")
    machine.run(f"systemctl daemon-reload; systemctl start --no-block {' '.join(SERVICES)}")
    machine.await_("[ $(systemctl show --property=NRestarts --value longhaul-crashes) -ge 3 ]", what="it crashed")
    sentences = services(machine)
    assert sentences["longhaul-fails"] == (
        "has failed (failed (failed), Result=exit-code, ExecMainStatus=3): first | out of luck"
    )
    assert sentences["longhaul-absent"].startswith("has failed (failed (failed), Result=exit-code, ExecMainStatus=203)")
    assert sentences["longhaul-crashes"].startswith("is restarted again and again, ")
    assert "again" in sentences["longhaul-crashes"].rpartition("): ")[2]
    assert "longhaul-runs" not in sentences
    machine.run("systemctl stop longhaul-crashes")


def test_a_kubelet_that_was_stopped_is_told_on_a_node_alone(machine: NspawnMachine) -> None:
    machine.run("systemctl disable --now longhaul-node.target kubelet; systemctl reset-failed")
    assert "kubelet" not in services(machine)
    machine.run("systemctl enable longhaul-node.target; systemctl stop kubelet")
    assert services(machine)["kubelet"] == "does not run (inactive (dead), Result=success)"
