"""Faults of a rack's machine in a lab. Each begins on entry and ends with its block, and comes with preflight's
message.

GPUs are stand-ins: files in the place of the PCI bus and of the files of NVIDIA's module in /proc. A machine's own
clock cannot be moved in a lab, so the reference is off instead. Disks are not filled, since they are this machine's
own: more space is required than any has.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import yaml

from components.model import load, plan
from components.model.hosts.places import gateway_places
from components.model.network.api_address import api_url
from components.model.network.mtu import pod_mtu
from lab.hosts import network_id
from lab.hypervisor.addresses import machine_link
from lab.hypervisor.networks import router_of
from longhaul.racks.inventory import OnpremMachine, machines
from tests.support.project import Project, host_key

SKEW_S = 7200
LOW_MTU = 1300
NEEDED_MIB = 1_000_000_000
TWIN = "02:00:00:00:00:07"
"""Hardware address of the machine that has the same IP address."""
ELSEWHERE = "https://192.0.2.1:6443"
KUBECONFIG = "/etc/kubernetes/kubelet.conf"
PCI = "/sys/bus/pci/devices"

BESIDE = f"""
set -eu
unshare --net sleep infinity & other=$!
trap 'kill $other' EXIT
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add twin link "$1" address {TWIN} netns $other type macvlan mode bridge
nsenter --net --target $other sh -c "ip address add $2/32 dev twin; ip link set twin up"
echo there
read -r ended || true
"""
"""Script for another machine on a segment, in a network of its own, until its input ends. Arguments: the router's
interface there, its address."""


@dataclass(frozen=True, kw_only=True)
class Caught:
    """Message that a fault must cause."""

    says: str
    """Regular expression for the whole message."""
    options: tuple[str, ...] = ()
    """Options of Ansible that the fault needs."""


Fault = Callable[[Project, str], AbstractContextManager[Caught]]
"""Fault of the machine with that name."""


def declared_machine(project: Project, name: str) -> OnpremMachine:
    """Return the machine as the environment declares it."""
    environment = load(project.stack_file)
    return next(one for one in machines(environment, plan(environment)) if one.name == name)


@contextmanager
def declared(project: Project, name: str, **changes: object) -> Iterator[None]:
    """Change the machine's entry in the hosts file."""
    path = project.stack_file.parent / project.read()["bare_metal"]
    before = path.read_text(encoding="utf-8")
    hosts = yaml.safe_load(before)["hosts"]
    changed = [host | (changes if f"{project.env}-{host['name']}" == name else {}) for host in hosts]
    path.write_text(yaml.safe_dump({"hosts": changed}, sort_keys=False), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


@contextmanager
def on(project: Project, name: str, script: str, *, undo: str) -> Iterator[None]:
    """Run a script on a machine, and undo it at the end."""
    try:
        project.on(name, f"set -eu\n{script}")
        yield
    finally:
        project.on(name, undo)


@contextmanager
def wrong_host_key(project: Project, name: str) -> Iterator[Caught]:
    """Pin another machine's key."""
    shown = hashlib.sha256(base64.b64decode(str(declared_machine(project, name).host_key).split()[1])).digest()
    fingerprint = base64.b64encode(shown).decode().rstrip("=")
    place = declared_machine(project, name).pin_at
    line = (
        f"its SSH host key, SHA256:{fingerprint}, is not the pinned one ({place}): find out which machine "
        "answers, and why"
    )
    with declared(project, name, host_key=host_key(project.env, "another")):
        yield Caught(says=re.escape(line))


@contextmanager
def skewed_clock(_project: Project, _name: str) -> Iterator[Caught]:
    """Set the clock of the reference: the machine's is two hours behind it, less the duration of the run."""
    says = r"its clock is 7[012]\d\d seconds behind this machine: let both follow a time server"
    yield Caught(says=says, options=("--extra-vars", f"preflight_now={int(time.time()) + SKEW_S}"))


@contextmanager
def low_mtu(project: Project, name: str) -> Iterator[Caught]:
    """Make the machine's interface refuse packets of the plan's size."""
    environment = load(project.stack_file)
    gateways = "|".join(re.escape(str(place.address)) for place in gateway_places(environment, plan(environment)))
    before = f"packets of {pod_mtu(environment)} bytes do not get to the gateway "
    after = f" (mtu={LOW_MTU}): let every interface and switch between pass them"
    with on(project, name, f"ip link set eth0 mtu {LOW_MTU}", undo="ip link set eth0 mtu 1500"):
        yield Caught(says=f"{re.escape(before)}({gateways}){re.escape(after)}")


@contextmanager
def crashing_service(project: Project, name: str) -> Iterator[Caught]:
    """Start a service that ends at once, and is started again each time."""
    unit = "/run/systemd/system/longhaul-crash.service"
    service = "[Service]\nExecStart=/bin/sh -c 'echo out of luck; exit 1'\nRestart=always\nRestartSec=200ms\n"
    restarts = "systemctl show --property=NRestarts --value longhaul-crash"
    script = f"""cat >{unit} <<'END'
[Unit]
StartLimitIntervalSec=0
{service}END
      systemctl daemon-reload
      systemctl start --no-block longhaul-crash
      until [ "$({restarts})" -ge 3 ]; do sleep 0.2; done
    """
    undo = f"systemctl stop longhaul-crash; rm -f {unit}; systemctl daemon-reload"
    with on(project, name, script, undo=undo):
        says = r"longhaul-crash\.service is restarted again and again, "
        says += r"\d+ times so far \(.+, Result=\S+(, ExecMainStatus=1)?\)"
        yield Caught(says=rf"{says}: out of luck( \| out of luck)?")


@contextmanager
def full_disk(_project: Project, _name: str) -> Iterator[Caught]:
    """Require more space than any disk has."""
    says = rf"/\S*, where /\S+ is, has \d+ MiB left, and {NEEDED_MIB} are needed.*: make room"
    yield Caught(says=says, options=("--extra-vars", f"preflight_free_mib={NEEDED_MIB}"))


@contextmanager
def duplicate_address(project: Project, name: str) -> Iterator[Caught]:
    """Give the machine's address to another machine on its segment."""
    machine = declared_machine(project, name)
    pid = json.loads((project.state / "lab.json").read_text())["pid"]
    router = f"/proc/{pid}/root{router_of(network_id(machine.site)).path}"
    argv = ["nsenter", f"--net={router}", "sh", "-c", BESIDE, "sh", machine_link(name), str(machine.address)]
    line = f"{TWIN} on eth0 has {machine.address} as well, its address in the plan: take it from there"
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as twin:
        try:
            assert twin.stdout
            assert twin.stdout.readline() == "there\n"
            yield Caught(says=re.escape(line))
        finally:
            twin.communicate()


@contextmanager
def other_cluster(project: Project, name: str) -> Iterator[Caught]:
    """Add a kubeconfig of the kubelet's that leads to another cluster."""
    environment = load(project.stack_file)
    leads = f"{KUBECONFIG} leads to {ELSEWHERE}, not to {api_url(environment, plan(environment))}"
    line = f"it is in another cluster: {leads}: take it out there, and remove the file"
    script = f"mkdir -p /etc/kubernetes; echo '    server: {ELSEWHERE}' > {KUBECONFIG}"
    with on(project, name, script, undo="rm -r /etc/kubernetes"):
        yield Caught(says=re.escape(line))


@contextmanager
def missing_gpus(project: Project, name: str) -> Iterator[Caught]:
    """Declare two GPUs where there is none."""
    remedy = "see that each is seated, has power and is on in the firmware, or correct the number"
    place = declared_machine(project, name).pin_at
    line = f"gpus is 2 ({place}), and 0 of NVIDIA's on the PCI bus (none): {remedy}"
    with declared(project, name, gpus=2), bus(project, name, ()):
        yield Caught(says=re.escape(line))


@contextmanager
def bus(project: Project, name: str, slots: Sequence[str]) -> Iterator[None]:
    """Replace the PCI bus by one with these GPUs of NVIDIA's and nothing else."""
    script = [f"mount -t tmpfs tmpfs {PCI}"]
    for slot in slots:
        script += [f"mkdir {PCI}/{slot}", f"echo 0x10de > {PCI}/{slot}/vendor", f"echo 0x030200 > {PCI}/{slot}/class"]
    with on(project, name, "\n".join(script), undo=f"umount {PCI}"):
        yield


@contextmanager
def nvidia_module(project: Project, name: str, version: str) -> Iterator[None]:
    """Show NVIDIA's kernel module of that version as running."""
    text = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Thu Jan  1 00:00:00 UTC 2026"
    folder = "/proc/driver/nvidia"
    script = f"mount -t tmpfs tmpfs /proc/driver; mkdir {folder}; echo '{text}' > {folder}/version"
    with on(project, name, script, undo="umount /proc/driver"):
        yield
