"""Judge a run of NCCL's ``all_reduce_perf`` (github.com/NVIDIA/nccl-tests) on machines of a pool: whether the network
between their GPUs is as fast as the cloud publishes for the machine type.

``busbw`` is what each rank's hardware carries, whatever the number of ranks (nccl-tests, doc/PERFORMANCE.md). With
ranks on several machines that is what enters and leaves one machine; with two machines, NVLink may carry a part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clouds.base.machine_types import MachineProperties
from longhaul.acceptance.outcome import StepResult

ENOUGH = 0.75
"""Least share of the published bandwidth. It is our own yardstick: what is not used at all (an adapter, RDMA of GPUs'
memory) costs far more, and protocols a few percent."""
LARGE = 1 << 30
"""Least size of the largest message, bytes: smaller ones measure latency too."""
_DEVICE = re.compile(r"#\s+Rank\s+(?P<rank>\d+)\s.*?\bon\s+(?P<machine>\S+)\s+device\s")
UNCHECKED = "N/A"
"""Count of wrong values where none was compared."""
_BEGIN = r"(?P<size>\d+)\s+\d+\s+\w+\s+(?:sum|prod|max|min|avg|mulsum)\s+-?\d+"
_HALF = r"\s+[\d.]+\s+[\d.]+\s+(?P<{0}>[\d.]+)\s+(?P<{0}_wrong>{1})"
_WRONG = r"[\d.]+(?:e\+\d+)?|N/A"
"""Count of wrong values. From a million on it is written as 2.14748e+09 (``%6g``, nccl-tests 2.19, src/util.cu)."""
_ROW = re.compile(_BEGIN + _HALF.format("out", _WRONG) + _HALF.format("into", _WRONG) + r"\s*$")
_ROW_BEGIN = re.compile(_BEGIN + r"(?:\s|$)")


@dataclass(frozen=True, kw_only=True)
class AllReduceFigures:
    """Figures of one run."""

    machines: frozenset[str]
    ranks: int
    largest: int
    """Size of the largest message, bytes."""
    busbw: float
    """Bus bandwidth at the largest message, GB/s (10⁹ bytes): the better of out-of-place and in-place."""
    wrong: int
    """Number of wrong values in all messages."""
    unchecked: int
    """Number of messages whose values were not compared (``--check 0``)."""


@dataclass(frozen=True, kw_only=True)
class AllReduceVerdict:
    """Judgement of one run."""

    result: StepResult
    evidence: str
    published: float
    """Published bandwidth of one machine, GB/s; 0 when none is known."""


def read(text: str) -> AllReduceFigures:
    """Read the output of ``all_reduce_perf``; lines may have a prefix of the launcher's. Raise ``ValueError`` when it
    is no such output, or when a result is cut short."""
    lines = text.splitlines()
    devices = [found for line in lines if (found := _DEVICE.search(line))]
    rows = [found for line in lines if (found := _ROW.search(line))]
    if not devices or not rows:
        missing = "line of a rank" if not devices else "line of a result"
        raise ValueError(
            f"there is no {missing} of nccl-tests in it: save all that all_reduce_perf writes. Releases whose results "
            "have no columns `root` and `#wrong` are too old"
        )
    broken = [line.strip() for line in lines if _ROW_BEGIN.search(line) and not _ROW.search(line)]
    if broken:
        raise ValueError(f"a result of nccl-tests is not whole: {broken[0]!r}: save all that all_reduce_perf writes")
    last = max(rows, key=lambda row: int(row["size"]))
    counts = [row[key] for row in rows for key in ("out_wrong", "into_wrong")]
    return AllReduceFigures(
        machines=frozenset(found["machine"] for found in devices),
        ranks=len({int(found["rank"]) for found in devices}),
        largest=int(last["size"]),
        busbw=max(float(last["out"]), float(last["into"])),
        wrong=sum(int(float(count)) for count in counts if count != UNCHECKED),
        unchecked=sum(UNCHECKED in (row["out_wrong"], row["into_wrong"]) for row in rows),
    )


def judge(measured: AllReduceFigures, name: str, machine: MachineProperties) -> AllReduceVerdict:
    """Hold a run to the figure of the machine type called ``name``."""
    published = machine.rdma_gbps / 8
    result, evidence = _judge(measured, name, machine, published)
    return AllReduceVerdict(result=result, evidence=evidence, published=published)


def _judge(
    measured: AllReduceFigures, name: str, machine: MachineProperties, published: float
) -> tuple[StepResult, str]:
    machines = len(measured.machines)
    if not machine.gpus:
        return StepResult.NOT_APPLICABLE, f"a {name} has no GPUs"
    if not machine.rdma_gbps:
        return (
            StepResult.NOT_APPLICABLE,
            f"no bandwidth of a {name} is known: write it, as rdma_gbps of the machine type",
        )
    if machines == 1:
        return StepResult.NOT_APPLICABLE, "it ran on one machine, whose GPUs use no network: take two or more"
    if measured.wrong:
        return StepResult.FAILED, f"{measured.wrong} values arrived wrong"
    if measured.unchecked:
        return (
            StepResult.FAILED,
            f"the values of {measured.unchecked} messages were not compared: run it without --check 0",
        )
    if measured.ranks != machines * machine.gpus:
        whole = f"{machines} machines have {machines * machine.gpus} GPUs"
        return (
            StepResult.FAILED,
            f"it ran on {measured.ranks} GPUs, and {whole}: take all, so that all adapters are used",
        )
    if measured.largest < LARGE:
        said = (
            f"the largest message has {measured.largest} bytes, and below {LARGE} it is not bandwidth that is measured"
        )
        return StepResult.FAILED, f"{said}: --maxbytes 16G"
    share = measured.busbw / published
    said = f"{measured.busbw:.0f} GB/s between {machines} machines, {share:.0%} of the {published:.0f} GB/s published"
    return (
        (StepResult.PASSED, said)
        if share >= ENOUGH
        else (StepResult.FAILED, f"{said}, and at least {ENOUGH:.0%} are due")
    )
