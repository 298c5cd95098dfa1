"""Make settings of a node that no sysctl file can express: the CPU frequency governor, huge pages, and the number of
tracked connections, which depends on the machine's memory.

A setting that cannot be changed is reported, and the exit code is still 0: a container may not change its host's
kernel, and a cloud controls its machines' CPUs from outside. docs/performance.md has the reason and the source of each
value.
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
"""Number of tracked connections for each GiB of memory: kube-proxy's 32,768 per core, divided by the 4 GiB per core of
general-purpose machines. An entry has 256 bytes and its extensions (/proc/slabinfo), so a full table takes less than
half a percent of the memory."""
MOST_CONNECTIONS = 1 << 20
"""Largest number of tracked connections, which is kube-proxy 1.36's (k8s.io/kubernetes,
pkg/proxy/conntrack/sysctls.go). On machines with 4 GiB of memory or more, the kernel's table has a quarter of this
number of buckets, as kube-proxy would set it."""

MOST_HUGE = 0.9
"""Largest share of the memory for huge pages. The rest is for the system and for the pods' other memory."""

KIB_PER_GIB = 1 << 20
SMALLER_PER_GIB = 512
"""Number of pages of 2 MiB in a GiB."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Settings of the machine in /etc/longhaul/node.json."""

    gpus: int = 0
    huge_pages_gib: int = 0
    huge_pages_2mib: int = 0
    """Number of huge pages of 2 MiB."""

    @classmethod
    def read(cls, path: Path) -> Wanted:
        """Read the file, whose keys are optional. Raise ``OSError``, ``ValueError``, ``TypeError`` or
        ``AttributeError`` if the file is missing or malformed."""
        node = json.loads(path.read_text())
        pages = HugePages.of_document(node)
        return cls(gpus=GpuPromise.of_document(node).gpus, huge_pages_gib=pages.gib, huge_pages_2mib=pages.mib_2)


@dataclass(frozen=True, kw_only=True)
class MachineFiles:
    """Files of the kernel with the machine's settings, and the wanted settings."""

    wanted: Wanted
    root: Path = Path("/")

    def path(self, name: str) -> Path:
        """Return the path of a file of /proc or /sys."""
        return self.root / name.removeprefix("/")

    @property
    def memory_kib(self) -> int:
        """Size of the memory in KiB; 0 if the kernel does not show it."""
        lines = self.path("/proc/meminfo").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("MemTotal:")), 0)

    def is_too_much(self, *, gib: int = 0, smaller: int = 0) -> bool:
        """Return whether this number of huge pages of 1 GiB (``gib``) and of 2 MiB (``smaller``) leaves too little
        memory."""
        return (gib + smaller / SMALLER_PER_GIB) * KIB_PER_GIB > MOST_HUGE * self.memory_kib


@dataclass(frozen=True, kw_only=True)
class ReportLine:
    """A line of the report."""

    text: str
    wrong: bool = False
    """True if a setting is not as it should be."""


def governor(machine: MachineFiles) -> Iterator[ReportLine]:
    """Keep the CPUs at the highest frequency at all times."""
    files = sorted(machine.path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not files:
        yield ReportLine(text="scaling_governor: this machine does not govern its processors' frequency itself")
        return
    reasons = [reason for file in files if file.read_text().strip() != GOVERNOR and (reason := _write(file, GOVERNOR))]
    if reasons:
        text = f"scaling_governor: not {GOVERNOR} on {len(reasons)} of {len(files)} processors: {reasons[0]}"
        yield ReportLine(text=text, wrong=True)
    else:
        yield ReportLine(text=f"scaling_governor: {GOVERNOR} on {len(files)} processors")


def transparent_huge_pages(machine: MachineFiles) -> Iterator[ReportLine]:
    """Give transparent huge pages only to programs that request them (madvise(2))."""
    file = machine.path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not file.exists():
        yield ReportLine(text="transparent_hugepage: this kernel has none")
    elif f"[{TRANSPARENT}]" not in file.read_text() and (reason := _write(file, TRANSPARENT)):
        yield ReportLine(text=f"transparent_hugepage: not {TRANSPARENT}, stays {_one_line(file)}: {reason}", wrong=True)
    else:
        yield ReportLine(text=f"transparent_hugepage: {TRANSPARENT}")


def huge_pages(machine: MachineFiles) -> Iterator[ReportLine]:
    """Reserve the pages of 1 GiB that node.json declares. A machine without pages of 1 GiB reserves the same memory in
    pages of 2 MiB, with the declared pages of 2 MiB. If node.json declares none, pages that the kernel's command line
    has reserved stay.

    Nothing is reserved while pods run: a kubelet that starts again also admits running pods again, and fails pods that
    do not fit into the rest of the memory (k8s.io/kubernetes, pkg/kubelet/kubelet.go, HandlePodAdditions).
    """
    gib = machine.wanted.huge_pages_gib
    if gib == 0:
        return
    if machine.is_too_much(gib=gib, smaller=machine.wanted.huge_pages_2mib):
        has, adapters_gib = machine.memory_kib / KIB_PER_GIB, machine.wanted.huge_pages_2mib / SMALLER_PER_GIB
        beside = f", with {adapters_gib:.1f} GiB for network adapters," if adapters_gib else ","
        yield ReportLine(
            text=f"huge pages: huge_pages_gib is {gib}{beside} and this machine has {has:.1f} GiB: none is reserved "
            f"for it, since at most {MOST_HUGE:.0%} may be. Give the pool or the host fewer",
            wrong=True,
        )
        return
    large, small = (machine.path(f"/sys/kernel/mm/hugepages/hugepages-{kib}kB") for kib in (KIB_PER_GIB, 2048))
    if large.is_dir():
        yield from _reserve(machine, large, gib, size="1 GiB")
    elif small.is_dir():
        yield ReportLine(
            text="huge pages: this machine has none of 1 GiB, so they are of 2 MiB: pods find them as hugepages-2Mi",
            wrong=True,
        )
        count = gib * SMALLER_PER_GIB + machine.wanted.huge_pages_2mib
        yield from _reserve(machine, small, count, size="2 MiB")
    else:
        yield ReportLine(text=f"huge pages: this kernel has none, and huge_pages_gib is {gib}", wrong=True)


def smaller_huge_pages(machine: MachineFiles) -> Iterator[ReportLine]:
    """Reserve the pages of 2 MiB that node.json declares for network adapters, unless :func:`huge_pages` has reserved
    them together with the pages of 2 MiB that replace pages of 1 GiB."""
    large, small = (machine.path(f"/sys/kernel/mm/hugepages/hugepages-{kib}kB") for kib in (KIB_PER_GIB, 2048))
    gib, count = machine.wanted.huge_pages_gib, machine.wanted.huge_pages_2mib
    if not count or (gib and not large.is_dir() and not machine.is_too_much(gib=gib, smaller=count)):
        return
    if machine.is_too_much(smaller=count):
        has, adapters_gib = machine.memory_kib / KIB_PER_GIB, count / SMALLER_PER_GIB
        yield ReportLine(
            text=f"huge pages: {adapters_gib:.1f} GiB for network adapters, and this machine has {has:.1f} GiB: none "
            f"is reserved, since at most {MOST_HUGE:.0%} may be. Use a larger machine type",
            wrong=True,
        )
    elif small.is_dir():
        yield from _reserve(machine, small, count, size="2 MiB")
    else:
        yield ReportLine(text="huge pages: this kernel has none of 2 MiB, which network adapters want", wrong=True)


def _reserve(machine: MachineFiles, folder: Path, count: int, *, size: str) -> Iterator[ReportLine]:
    file = folder / "nr_hugepages"
    reason = ""
    if int(file.read_text()) != count:
        pods = running(ALL, cgroups=machine.path("/sys/fs/cgroup"))
        reason = "pods run here. Drain the node and reboot it" if pods else _write(file, str(count))
    got = int(file.read_text())
    if reason:
        yield ReportLine(text=f"huge pages: {got} of {size}, not {count}: {reason}", wrong=True)
    elif got < count:
        yield ReportLine(
            text=f"huge pages: {got} of {size}, not {count}: no more memory is in one piece. Reboot, so that they are "
            f"reserved before it is in use; or give the kernel hugepagesz={size[0]}{size[2]} hugepages={count}",
            wrong=True,
        )
    else:
        yield ReportLine(text=f"huge pages: {got} of {size}")


def connections(machine: MachineFiles) -> Iterator[ReportLine]:
    """Set the number of tracked connections by the size of the memory, but never below the kernel's own number."""
    file = machine.path("/proc/sys/net/netfilter/nf_conntrack_max")
    if not file.exists():
        yield ReportLine(text="nf_conntrack_max: connections are not tracked yet (module nf_conntrack)", wrong=True)
        return
    wanted = min(MOST_CONNECTIONS, machine.memory_kib * CONNECTIONS_PER_GIB // KIB_PER_GIB)
    reason = _write(file, str(wanted)) if int(file.read_text()) < wanted else ""
    if reason:
        yield ReportLine(text=f"nf_conntrack_max: not {wanted}, stays {_one_line(file)}: {reason}", wrong=True)
    else:
        yield ReportLine(text=f"nf_conntrack_max: {_one_line(file)}")


def memory_stays(machine: MachineFiles) -> Iterator[ReportLine]:
    """On machines with GPUs, stop the kernel from moving pages between NUMA nodes, because the kubelet pins programs
    that use GPUs."""
    file = machine.path("/proc/sys/kernel/numa_balancing")
    if not machine.wanted.gpus or not file.exists():
        return
    reason = _write(file, "0") if int(file.read_text()) != 0 else ""
    if reason:
        yield ReportLine(text=f"numa_balancing: not 0, stays {_one_line(file)}: {reason}", wrong=True)
    else:
        yield ReportLine(text="numa_balancing: 0")


SETTINGS: dict[str, Callable[[MachineFiles], Iterator[ReportLine]]] = {
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
    """Write a value. Return the reason of a failure; empty after success."""
    try:
        file.write_text(value)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _one_line(file: Path) -> str:
    return file.read_text().strip()


def settled(machine: MachineFiles) -> Iterator[ReportLine]:
    """Make every setting, also after a failed one, and yield the lines of the report."""
    for name, setting in SETTINGS.items():
        try:
            yield from setting(machine)
        except (OSError, ValueError) as error:
            yield ReportLine(text=f"{name}: {error}", wrong=True)


def main() -> int:
    """Make the settings and print the report. Always return 0, because a slow node is still a node."""
    try:
        wanted = Wanted.read(NODE)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        print(f"{NODE}: {error}: the file is treated as one without GPUs and huge pages", file=sys.stderr)
        wanted = Wanted()
    for notice in settled(MachineFiles(wanted=wanted)):
        print(notice.text, file=sys.stderr if notice.wrong else sys.stdout, flush=True)
    return 0
