"""Rights over the host that root on a lab machine has, as docs/lab.md lists them.

Nothing is changed: files are opened and not written, and what is set has its value already.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from lab.desired import World
from tests.lab.hypervisor.conftest import Lab, machine, network_one

pytestmark = pytest.mark.lab

ATTEMPTS = r"""
import ctypes, errno, json, os, stat, struct, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def says(returned):
    return "done" if returned == 0 else errno.errorcode[ctypes.get_errno()]
def opened(path, flags):
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def module():
    return says(libc.syscall(313, -1, b"", 0))
def ports():
    return says(libc.iopl(3))
def clock():
    timex = ctypes.create_string_buffer(256)
    libc.adjtimex(timex)
    struct.pack_into("I", timex, 0, 2)
    return says(min(libc.adjtimex(timex), 0))
def memory():
    os.mknod("/root/mem", stat.S_IFCHR | 0o600, os.makedev(1, 1))
    return opened("/root/mem", os.O_RDWR)
def kernel_parameters():
    return opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)
def kernel_parameters_mounted_again():
    subprocess.run(["mount", "-t", "proc", "proc", "/mnt"], check=True)
    return opened("/mnt/sys/kernel/core_pattern", os.O_WRONLY)
def disk():
    fields = [line.split() for line in open("/proc/partitions")][2:]
    major, minor = next((int(line[0]), int(line[1])) for line in fields if int(line[2]) > 1 << 20)
    os.mknod("/root/disk", stat.S_IFBLK | 0o600, os.makedev(major, minor))
    return opened("/root/disk", os.O_RDONLY)
tries = (module, ports, clock, memory, kernel_parameters, kernel_parameters_mounted_again, disk)
print(json.dumps({attempt.__name__: attempt() for attempt in tries}))
"""


@pytest.fixture(name="lab", scope="module")
def _lab(make_lab: Callable[[str], Lab]) -> Iterator[Lab]:
    lab = make_lab("test-root")
    lab.start()
    lab.apply(World(networks=(network_one(),), machines=(machine("alpha", "10.1.0.4/24"),)))
    lab.await_phase("running", "alpha")
    yield lab
    lab.lab("down", "--all")


def test_what_root_on_a_machine_can_do_to_the_host(lab: Lab) -> None:
    # By the machine's own systemd: a command that enters the machine from outside has the host's rights.
    script = f"cat > /run/attempts.py <<'END'\n{ATTEMPTS}\nEND\n"
    done = lab.inside("alpha", f"{script}systemd-run --quiet --wait --pipe python3 /run/attempts.py")
    answers = json.loads(done.stdout)
    refused = {name: answers.pop(name) for name in ("module", "ports", "clock", "kernel_parameters")}
    assert "done" not in refused.values(), refused
    assert refused["clock"] == "EPERM"
    # What remains depends on the host: a lab's machines are for tests, and none of them is a boundary.
    print(answers)
