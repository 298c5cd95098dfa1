"""Verdicts over what NCCL's ``all_reduce_perf`` writes.

The sample is a real run on two machines with eight H100 each, without some of its sizes:
github.com/lessizzmore/create-a3mega-ztan-fork, ``ztan-NCCL-test-result``, commit 02dd8f4.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clouds.base.machine_types import MachineProperties
from components.model.pools.machine_types import known_machine_types
from longhaul.acceptance.all_reduce import judge, read
from longhaul.acceptance.outcome import StepResult
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout

SAMPLE = Path(__file__).parent / "nccl" / "two-h100-machines.txt"
REAL = SAMPLE.read_text(encoding="utf-8")
LARGEST = (
    "8589934592    2147483648     float     sum      -1    47535  180.71  338.82      0    47743  179.92  337.35      0"
)
TYPES = known_machine_types()
P5 = TYPES["p5.48xlarge"]


def judged(text: str, machine: MachineProperties = P5) -> tuple[StepResult, str]:
    verdict = judge(read(text), "p5.48xlarge", machine)
    return verdict.result, verdict.evidence


def test_a_real_run_is_read() -> None:
    found = read(REAL)
    assert found.machines == {"ztan-mig-235z", "ztan-mig-gq73"}
    assert (found.ranks, found.largest, found.busbw, found.wrong) == (16, 8 << 30, 338.82, 0)


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", " 0: "])
def test_launchers_put_a_prefix_before_lines(prefix: str) -> None:
    assert read("".join(f"{prefix}{line}\n" for line in REAL.splitlines())) == read(REAL)


@pytest.mark.parametrize("text", ["", "# Avg bus bandwidth    : 70.742\n", REAL.replace(" Rank ", " Rang ")])
def test_what_is_no_run_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="nccl-tests"):
        read(text)


def test_a_result_that_is_cut_short_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="not whole"):
        read(REAL.replace(LARGEST, LARGEST[:60]))


@pytest.mark.parametrize(
    ("old", "new", "result", "said"),
    [
        ("", "", StepResult.PASSED, "339 GB/s between 2 machines, 85% of the 400 GB/s published"),
        (
            LARGEST,
            LARGEST.replace("338.82", "299.00").replace("337.35", "298.00"),
            StepResult.FAILED,
            "at least 75% are due",
        ),
        (LARGEST, LARGEST.replace("338.82", "30.10").replace("337.35", "301.0"), StepResult.PASSED, "75%"),
        (LARGEST, LARGEST.replace("      0    47743", "      7    47743"), StepResult.FAILED, "7 values arrived wrong"),
        (LARGEST, LARGEST.replace("    0    47743", " 2.14748e+09    47743"), StepResult.FAILED, "2147480000 values"),
        (LARGEST, LARGEST.replace("      0", "    N/A"), StepResult.FAILED, "1 messages were not compared"),
        ("ztan-mig-gq73", "ztan-mig-235z", StepResult.NOT_APPLICABLE, "one machine"),
        ("#  Rank 15 ", "#  Rink 15 ", StepResult.FAILED, "15 GPUs, and 2 machines have 16"),
    ],
    ids=["real", "slow", "the-better-half", "wrong", "wrong-by-millions", "unchecked", "one-machine", "not-all-gpus"],
)
def test_a_run_is_held_to_the_published_figure(old: str, new: str, result: StepResult, said: str) -> None:
    found, evidence = judged(REAL.replace(old, new) if old else REAL)
    assert (found, said in evidence) == (result, True), evidence


def test_small_messages_measure_no_bandwidth() -> None:
    small = "\n".join(line for line in REAL.splitlines() if not line.lstrip().startswith(("2147", "4294", "8589")))
    assert judged(small) == (StepResult.FAILED, judged(small)[1])
    assert "--maxbytes" in judged(small)[1]


@pytest.mark.parametrize(("fields", "said"), [({"rdma_gbps": 0}, "rdma_gbps"), ({"gpus": 0}, "no GPUs")])
def test_a_type_without_a_figure_is_not_judged(fields: dict[str, int], said: str) -> None:
    found, evidence = judged(REAL, P5.model_copy(update=fields))
    assert (found, said in evidence) == (StepResult.NOT_APPLICABLE, True)


def test_types_with_gpus_of_several_machines_in_mind_have_a_figure() -> None:
    figures = {name: kind.rdma_gbps for name, kind in TYPES.items() if kind.rdma_gbps}
    assert figures == {
        "Standard_ND96amsr_A100_v4": 1600,
        "Standard_ND96isr_H100_v5": 3200,
        "p4d.24xlarge": 400,
        "p4de.24xlarge": 400,
        "p5.48xlarge": 3200,
        "p5e.48xlarge": 3200,
        "p5en.48xlarge": 3200,
    }


@pytest.fixture(name="with_pools")
def _with_pools(checkout: Checkout) -> Checkout:
    raw = checkout.environment()
    site = raw["control_plane"]["site"]
    gpus = {"site": site, "machine_type": "Standard_ND96isr_H100_v5", "max": 2}
    checkout.write({**raw, "pools": {"nd": gpus, "cpu": {**gpus, "machine_type": "Standard_D8s_v5", "min": 1}}})
    return checkout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--pool", "nd", "--all-reduce", str(SAMPLE)), Exit.OK, "nd (Standard_ND96isr_H100_v5): passed: 339 GB/s"),
        (("--pool", "cpu", "--all-reduce", str(SAMPLE)), Exit.OK, "has no GPUs"),
        (("--pool", "nd"), Exit.USAGE, "go together"),
        (("--all-reduce", str(SAMPLE)), Exit.USAGE, "go together"),
        (("--pool", "none", "--all-reduce", str(SAMPLE)), Exit.USAGE, "no pool 'none'"),
        (("--pool", "nd", "--all-reduce", "/no/such/file"), Exit.USAGE, "No such file"),
    ],
    ids=["passed", "not-applicable", "no-file", "no-pool", "other-pool", "missing-file"],
)
def test_the_command_judges_without_asking_anybody(
    with_pools: Checkout, words: tuple[str, ...], code: Exit, said: str
) -> None:
    done = with_pools.run("acceptance", "--env", "dev", *words)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr


def test_a_slow_network_fails_and_programs_are_told_why(with_pools: Checkout) -> None:
    slow = REAL.replace("338.82", " 30.10").replace("337.35", " 30.10")
    asked = ("acceptance", "--env", "dev", "--pool", "nd", "--all-reduce", "-", "--json")
    done = with_pools.run(*asked, stdin=slow)
    found = json.loads(done.stdout)
    assert (done.returncode, found["result"]) == (Exit.FAILED, "failed")
    assert (found["busbw_gb_s"], found["published_gb_s"]) == (30.1, 400.0)
