"""Make settings that a node's work needs and no sysctl file can express: the CPU frequency governor, huge pages, and
room for connections according to the machine's memory.

A setting that cannot be changed is reported and left as it is, with exit code 0: a container may not change its host's
kernel, and a cloud's CPUs are controlled from outside. docs/performance.md has the reason and the source of each value.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kubelet.pod_processes import ALL, running

from contract.documents.node import PATH as NODE
from contract.documents.node import GpuPromise, HugePages

GOVERNOR = "performance"
TRANSPARENT = "madvise"

CONNECTIONS_PER_GIB = 8192
"""Tracked connections for each GiB of memory: kube-proxy's 32,768 a core, at the 4 GiB a core of general-purpose
machines. An entry has 256 bytes and its extensions (/proc/slabinfo), so a full table takes less than half a percent."""
MOST_CONNECTIONS = 1 << 20
"""Largest number of tracked connections, the same as kube-proxy 1.36's (k8s.io/kubernetes,
pkg/proxy/conntrack/sysctls.go). From 4 GiB of memory on, the kernel's table has a quarter as many buckets, which is
what kube-proxy would set."""

MOST_HUGE = 0.9
"""Largest share of the memory for huge pages: the rest is for the system and for the pods' other memory."""

KIB_PER_GIB = 1 << 20
SMALLER_PER_GIB = 512
"""Number of pages of 2 MiB in a GiB."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Settings of the machine in /etc/longhaul/node.json."""

    gpus: int = 0
    huge_pages_gib: int = 0
    huge_pages_2mib: int = 0
    """Number of huge pages of 2 MiB, beside the others."""

    @classmethod
    def read(cls, path: Path) -> Wanted:
        """Read the file; raise ``OSError``, ``ValueError``, ``TypeError`` or ``AttributeError`` when it has another
        form. Keys may be missing."""
        node = json.loads(path.read_text())
        pages = HugePages.of_document(node)
        return cls(gpus=GpuPromise.of_document(node).gpus, huge_pages_gib=pages.gib, huge_pages_2mib=pages.mib_2)


@dataclass(frozen=True, kw_only=True)
class MachineFiles:
    """Files with the machine's settings."""

    wanted: Wanted
    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """Return the path of a file of /proc or /sys."""
        return self.root / name.removeprefix("/")

    @property
    def memory_kib(self) -> int:
        """Size of the memory in KiB; 0 when the kernel does not tell."""
        lines = self.path("/proc/meminfo").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("MemTotal:")), 0)

    def is_too_much(self, *, gib: int = 0, smaller: int = 0) -> bool:
        """Return whether this number of huge pages, of 1 GiB and of 2 MiB, leaves too little of the memory."""
        return (gib + smaller / SMALLER_PER_GIB) * KIB_PER_GIB > MOST_HUGE * self.memory_kib


@dataclass(frozen=True, kw_only=True)
class Said:
    """One line of the report."""

    text: str
    wrong: bool = False
    """True when something is not as it should be."""


def governor(machine: MachineFiles) -> Iterator[Said]:
    """Keep the CPUs at the highest frequency at all times."""
    files = sorted(machine.path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not files:
        yield Said(text="scaling_governor: this machine does not govern its processors' frequency itself")
        return
    reasons = [reason for file in files if file.read_text().strip() != GOVERNOR and (reason := _write(file, GOVERNOR))]
    if reasons:
        text = f"scaling_governor: not {GOVERNOR} on {len(reasons)} of {len(files)} processors: {reasons[0]}"
        yield Said(text=text, wrong=True)
    else:
        yield Said(text=f"scaling_governor: {GOVERNOR} on {len(files)} processors")


def transparent_huge_pages(machine: MachineFiles) -> Iterator[Said]:
    """Give transparent huge pages only to programs that ask for them (madvise(2))."""
    file = machine.path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not file.exists():
        yield Said(text="transparent_hugepage: this kernel has none")
    elif f"[{TRANSPARENT}]" not in file.read_text() and (reason := _write(file, TRANSPARENT)):
        yield Said(text=f"transparent_hugepage: not {TRANSPARENT}, stays {_one_line(file)}: {reason}", wrong=True)
    else:
        yield Said(text=f"transparent_hugepage: {TRANSPARENT}")


def huge_pages(machine: MachineFiles) -> Iterator[Said]:
    """Reserve as many pages of 1 GiB as node.json declares, or the same memory in pages of 2 MiB on a machine without
    larger ones. Without a number, pages that the kernel's command line reserved are left alone.

    Nothing is reserved while pods run: a kubelet that starts again also admits running pods again, and fails those that
    do not fit into the rest of the memory (k8s.io/kubernetes, pkg/kubelet/kubelet.go, HandlePodAdditions).
    """
    gib = machine.wanted.huge_pages_gib
    if gib == 0:
        return
    if machine.is_too_much(gib=gib, smaller=machine.wanted.huge_pages_2mib):
        has, adapters_gib = machine.memory_kib / KIB_PER_GIB, machine.wanted.huge_pages_2mib / SMALLER_PER_GIB
        beside = f", with {adapters_gib:.1f} GiB for network adapters," if adapters_gib else ","
        yield Said(
            text=f"huge pages: huge_pages_gib is {gib}{beside} and this machine has {has:.1f} GiB: none is reserved "
            f"for it, since at most {MOST_HUGE:.0%} may be. Give the pool or the host fewer",
            wrong=True,
        )
        return
    large, small = (machine.path(f"/sys/kernel/mm/hugepages/hugepages-{kib}kB") for kib in (KIB_PER_GIB, 2048))
    if large.is_dir():
        yield from _reserve(machine, large, gib, size="1 GiB")
    elif small.is_dir():
        yield Said(
            text="huge pages: this machine has none of 1 GiB, so they are of 2 MiB: pods find them as hugepages-2Mi",
            wrong=True,
        )
        count = gib * SMALLER_PER_GIB + machine.wanted.huge_pages_2mib
        yield from _reserve(machine, small, count, size="2 MiB")
    else:
        yield Said(text=f"huge pages: this kernel has none, and huge_pages_gib is {gib}", wrong=True)


def smaller_huge_pages(machine: MachineFiles) -> Iterator[Said]:
    """Reserve as many pages of 2 MiB as node.json declares, for network adapters. On a machine without pages of 1 GiB,
    where pages of 2 MiB replace those, :func:`huge_pages` has reserved both, unless it refused the others."""
    large, small = (machine.path(f"/sys/kernel/mm/hugepages/hugepages-{kib}kB") for kib in (KIB_PER_GIB, 2048))
    gib, count = machine.wanted.huge_pages_gib, machine.wanted.huge_pages_2mib
    if not count or (gib and not large.is_dir() and not machine.is_too_much(gib=gib, smaller=count)):
        return
    if machine.is_too_much(smaller=count):
        has, adapters_gib = machine.memory_kib / KIB_PER_GIB, count / SMALLER_PER_GIB
        yield Said(
            text=f"huge pages: {adapters_gib:.1f} GiB for network adapters, and this machine has {has:.1f} GiB: none "
            f"is reserved, since at most {MOST_HUGE:.0%} may be. Use a larger machine type",
            wrong=True,
        )
    elif small.is_dir():
        yield from _reserve(machine, small, count, size="2 MiB")
    else:
        yield Said(text="huge pages: this kernel has none of 2 MiB, which network adapters want", wrong=True)


def _reserve(machine: MachineFiles, folder: Path, count: int, *, size: str) -> Iterator[Said]:
    file = folder / "nr_hugepages"
    reason = ""
    if int(file.read_text()) != count:
        pods = running(ALL, cgroups=machine.path("/sys/fs/cgroup"))
        reason = "pods run here. Drain the node and reboot it" if pods else _write(file, str(count))
    got = int(file.read_text())
    if reason:
        yield Said(text=f"huge pages: {got} of {size}, not {count}: {reason}", wrong=True)
    elif got < count:
        yield Said(
            text=f"huge pages: {got} of {size}, not {count}: no more memory is in one piece. Reboot, so that they are "
            f"reserved before it is in use; or give the kernel hugepagesz={size[0]}{size[2]} hugepages={count}",
            wrong=True,
        )
    else:
        yield Said(text=f"huge pages: {got} of {size}")


def connections(machine: MachineFiles) -> Iterator[Said]:
    """Allow as many connections as the memory has room for, never fewer than the kernel's own number."""
    file = machine.path("/proc/sys/net/netfilter/nf_conntrack_max")
    if not file.exists():
        yield Said(text="nf_conntrack_max: connections are not tracked yet (module nf_conntrack)", wrong=True)
        return
    wanted = min(MOST_CONNECTIONS, machine.memory_kib * CONNECTIONS_PER_GIB // KIB_PER_GIB)
    reason = _write(file, str(wanted)) if int(file.read_text()) < wanted else ""
    if reason:
        yield Said(text=f"nf_conntrack_max: not {wanted}, stays {_one_line(file)}: {reason}", wrong=True)
    else:
        yield Said(text=f"nf_conntrack_max: {_one_line(file)}")


def memory_stays(machine: MachineFiles) -> Iterator[Said]:
    """On machines with GPUs, stop the kernel from moving pages between NUMA nodes: the kubelet has pinned the programs
    that use them."""
    file = machine.path("/proc/sys/kernel/numa_balancing")
    if not machine.wanted.gpus or not file.exists():
        return
    reason = _write(file, "0") if int(file.read_text()) != 0 else ""
    if reason:
        yield Said(text=f"numa_balancing: not 0, stays {_one_line(file)}: {reason}", wrong=True)
    else:
        yield Said(text="numa_balancing: 0")


SETTINGS: dict[str, Callable[[MachineFiles], Iterator[Said]]] = {
    # Huge pages first: memory is least fragmented at the beginning of a boot.
    "huge_pages_gib": huge_pages,
    "huge_pages_2mib": smaller_huge_pages,
    "scaling_governor": governor,
    "transparent_hugepage/enabled": transparent_huge_pages,
    "net.netfilter.nf_conntrack_max": connections,
    "kernel.numa_balancing": memory_stays,
}
"""Functions that make the settings, by the names in docs/performance.md."""


def _write(file: Path, value: str) -> str:
    """Write a value. Return the reason of a failure; empty when there was none."""
    try:
        file.write_text(value)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _one_line(file: Path) -> str:
    return file.read_text().strip()


def settled(machine: MachineFiles) -> Iterator[Said]:
    """Make every setting, also after one has failed."""
    for name, setting in SETTINGS.items():
        try:
            yield from setting(machine)
        except (OSError, ValueError) as error:
            yield Said(text=f"{name}: {error}", wrong=True)


def main() -> int:
    """Return 0 in any case: a node that is not as fast as it could be is still a node."""
    try:
        wanted = Wanted.read(NODE)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        print(f"{NODE}: {error}: the file is treated as one without GPUs and huge pages", file=sys.stderr)
        wanted = Wanted()
    for notice in settled(MachineFiles(wanted=wanted)):
        print(notice.text, file=sys.stderr if notice.wrong else sys.stdout, flush=True)
    return 0
