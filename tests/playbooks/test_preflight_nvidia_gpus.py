"""Problems that preflight finds with a host's GPUs: on an invented bus, and in the output of an invented node's
program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.playbooks.test_preflight import FILES
from tests.support.modules import module_at

GPUS = module_at(FILES / "nvidia_gpus.py")
PLACE = "hosts, gpu-0, in stacks/hosts.yaml"
SLOTS = ("0000:18:00.0", "0000:3b:00.0")
REMEDY = "see that each is seated, has power and is on in the firmware, or correct the number"


class Host:
    """A host with two GPUs, as files in a folder. It is not a node and has no driver."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for slot in SLOTS:
            self.has(slot)
        # A GPU's audio device, and another vendor's display.
        self.has("0000:18:00.1", kind="0x040300")
        self.has("0000:01:00.0", vendor="0x1a03", kind="0x030000")

    def writes(self, path: str, text: str = "") -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def has(self, slot: str, *, vendor: str = "0x10de", kind: str = "0x030200") -> None:
        self.writes(f"sys/bus/pci/devices/{slot}/vendor", f"{vendor}\n")
        self.writes(f"sys/bus/pci/devices/{slot}/class", f"{kind}\n")

    def lacks(self, slot: str) -> None:
        (self.root / f"sys/bus/pci/devices/{slot}/vendor").unlink()

    def becomes_a_node(self) -> None:
        self.writes(GPUS.CERTIFICATE)

    def says_of_itself(self, text: str, *, code: int = 0) -> None:
        """Install a node's program that prints ``text``, and its promise."""
        self.writes(GPUS.PROMISE, "{}")
        words = "assert sys.argv[1:] == ['gpu.preflight', '--look-only', '--json'], sys.argv\n"
        words += f"print({text!r})\nsys.exit({code})\n"
        self.writes(GPUS.PROGRAM, f"import sys\n{words}")

    def finds(self, *findings: tuple[str, str, str], unseen: tuple[str, ...] = ()) -> None:
        found = [dict(zip(("code", "gpu", "message"), finding, strict=True)) for finding in findings]
        self.says_of_itself(json.dumps({"findings": found, "unseen": unseen}), code=1 if found else 3 if unseen else 0)

    def lines(self, declared: int = 2, *, provided: bool = False) -> list[str]:
        return list(GPUS.look(self.root, declared=declared, provided=provided, place=PLACE))


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_a_host_with_the_gpus_that_it_declares_is_fine(host: Host) -> None:
    assert host.lines() == []


def test_a_gpu_that_is_not_on_the_bus(host: Host) -> None:
    host.lacks(SLOTS[1])
    said = f"gpus is 2 ({PLACE}), and 1 of NVIDIA's on the PCI bus (0000:18:00.0): {REMEDY}"
    assert host.lines() == [f"problem {said}"]
    host.becomes_a_node()
    assert host.lines() == [f"unhealthy {said}"], "a node is repaired all the same"


def test_no_gpu_and_no_bus_at_all(tmp_path: Path) -> None:
    (line,) = GPUS.look(tmp_path, declared=8, provided=False, place=PLACE)
    assert line.startswith(f"problem gpus is 8 ({PLACE}), and 0 of NVIDIA's on the PCI bus (none): ")


def test_more_gpus_than_are_declared(host: Host) -> None:
    (line,) = host.lines(1)
    assert line.startswith("problem gpus is 1")
    assert line.endswith("and 2 of NVIDIA's on the PCI bus (0000:18:00.0, 0000:3b:00.0): write how many there are")


def test_a_driver_that_its_own_system_is_to_bring(host: Host) -> None:
    (line,) = host.lines(provided=True)
    assert line.startswith("problem its own system is to bring NVIDIA's driver")
    host.writes(GPUS.LOADED)
    assert host.lines(provided=True) == []


PENDING = ("EccRetirementPending", "GPU-1", "pages of its memory\nwait to be retired: reboot")
NO_MODULE = ("DriverNotForKernel", "", "no NVIDIA module is installed for the running kernel")


def test_what_a_node_finds_of_its_gpus(host: Host) -> None:
    host.finds(PENDING, NO_MODULE, unseen=("modinfo: not there",))
    assert host.lines() == [], "before the first run there need be no driver"
    host.becomes_a_node()
    assert host.lines() == [
        "unhealthy EccRetirementPending GPU-1: pages of its memory wait to be retired: reboot",
        "unhealthy DriverNotForKernel: no NVIDIA module is installed for the running kernel",
        "unhealthy not seen: modinfo: not there",
    ]


def test_where_a_driver_runs_before_the_host_is_a_node(host: Host) -> None:
    host.finds(PENDING)
    host.writes(GPUS.LOADED)
    assert [line.split()[1] for line in host.lines()] == ["EccRetirementPending"]


def test_a_node_without_the_program_is_not_asked(host: Host) -> None:
    host.becomes_a_node()
    assert host.lines() == []


def test_what_the_bus_has_said_is_not_said_again(host: Host) -> None:
    host.becomes_a_node()
    host.finds(("GpuMissing", "", "2 promised, 1 there"), PENDING)
    host.lacks(SLOTS[0])
    assert [line.split()[1] for line in host.lines()] == ["gpus", "EccRetirementPending"]
    host.has(SLOTS[0])
    assert [line.split()[1] for line in host.lines()] == ["GpuMissing:", "EccRetirementPending"]


@pytest.mark.parametrize("text", ["", "Traceback", "[]", '{"healthy": true}'])
def test_a_look_that_gives_no_report_is_said(host: Host, text: str) -> None:
    host.becomes_a_node()
    host.says_of_itself(text, code=7)
    assert host.lines() == [f"unhealthy its GPUs could not be looked at: {host.root / GPUS.PROGRAM} ended with 7"]


def test_its_last_words_are_quoted(host: Host) -> None:
    host.becomes_a_node()
    host.writes(GPUS.PROMISE)
    host.writes(GPUS.PROGRAM, "raise SystemExit('first\\nthe library crashed')")
    (line,) = host.lines()
    assert line.endswith("ended with 1: the library crashed")


def test_a_look_that_hangs_is_ended(host: Host) -> None:
    """The script waits forever, and the limit of 0 s ends it."""
    host.writes("hang.py", "import signal\nsignal.pause()\n")
    (line,) = GPUS.health(host.root / "hang.py", reported=(), limit_s=0.0)
    assert line == "the look at its GPUs did not end within 0 s: the driver hangs; see the kernel log (NVRM)"


def test_the_report_of_the_program_that_ships_is_read(root: Path) -> None:
    """Runs on this machine, whatever it has: most machines have no node.json, which the report then lists as not
    seen."""
    program = root / "images/rootfs" / GPUS.PROGRAM
    assert not [
        line for line in GPUS.health(program, reported=()) if line.startswith("its GPUs could not be looked at")
    ]
    (line,) = GPUS.health(program.with_name("missing.py"), reported=())
    assert line.startswith(f"its GPUs could not be looked at: {program.with_name('missing.py')} ended with 2: ")
