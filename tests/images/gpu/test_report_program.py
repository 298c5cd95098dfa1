"""The program that reports a node's GPUs to the cluster: its pauses, its identity, and machines with nothing to
report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from gpu import own_node
from gpu import report as gpu_report
from gpu.own_node import COMPONENT, this_node
from gpu.report import FIRST_S, LAST_S, RETRY_S, WAIT_S, WELL_S, Pace, Reporter
from gpu.verdict import BAD, GOOD, OPEN, GpuVerdict
from node import checks as worker_checks

from contract.kubernetes.machine import MachineApi
from tests.images.gpu.told import NAME, PATH, Server

WORKER = {
    "role": "node",
    "kind": "onprem",
    "version": "1.30.3",
    "api": "https://10.64.3.5:6443",
    "labels": {},
    "supernet": "10.64.0.0/12",
    "pod_mtu": 1400,
}

Make = Callable[..., Reporter]


def test_pauses_grow_while_it_stays_as_bad_and_are_bounded() -> None:
    pace = Pace()
    bad, open_, good = (GpuVerdict(status=status, reason=status, message="") for status in (BAD, OPEN, GOOD))
    assert [pace.after(bad) for _ in range(8)] == [15, 30, 60, 120, 240, 480, LAST_S, LAST_S]
    assert pace.after(GpuVerdict(status=BAD, reason="other", message="")) == FIRST_S
    assert [pace.after(open_) for _ in range(3)] == [FIRST_S, WAIT_S, WAIT_S]
    assert pace.after(good) == WELL_S
    assert pace.after(bad) == FIRST_S


def test_it_goes_on_while_the_api_does_not_answer(
    server: Server, reporter: Make, caplog: pytest.LogCaptureFixture
) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        node = server.objects.pop(PATH, None)
        if len(slept) == 2:
            server.refuse = 500
        elif len(slept) == 4:
            server.refuse, server.objects[PATH] = 0, saved
        elif len(slept) == 5:
            raise InterruptedError
        assert node is None or len(slept) in (1, 5)

    saved = server.node
    with pytest.raises(InterruptedError):
        gpu_report.run(reporter(), sleep=sleep)
    assert [round(seconds / RETRY_S) for seconds in slept[1:4]] == [1, 1, 1]
    assert all(0.9 * WELL_S <= seconds <= 1.1 * WELL_S for seconds in (slept[0], slept[4]))
    said = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 2, "each new reason once"
    assert "there is no Node test-gpu-0 yet" in said[0]


@pytest.fixture(name="node_json")
def _node_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """File that describes this machine to the program."""
    path = tmp_path / "node.json"
    path.write_text(json.dumps({**WORKER, "gpus": 2}))
    monkeypatch.setattr(gpu_report, "PATH", path)
    monkeypatch.setattr(own_node, "PATH", path)
    places = worker_checks.WorkerPaths(environment=tmp_path / "node.env")
    places.environment.write_text(f"NODE_NAME={NAME}\nNODE_ADDRESS=10.66.32.10\n")
    monkeypatch.setattr(worker_checks, "WorkerPaths", lambda: places)
    monkeypatch.setattr("sys.argv", ["gpu.report"])
    return path


def test_it_speaks_as_the_kubelet_does(node_json: Path) -> None:
    own = this_node(agent=gpu_report.AGENT, component=COMPONENT)
    api = own._api
    assert isinstance(api, MachineApi)
    assert (own.name, api.url) == (NAME, "https://10.64.3.5:6443")
    assert api.access.headers == {"User-Agent": "longhaul-gpu-report"}
    assert str(api.certificate) == "/var/lib/kubelet/pki/kubelet-client-current.pem"
    assert str(api.authority) == "/etc/longhaul/pki/kubernetes-ca.crt"


def test_a_machine_without_gpus_has_nothing_to_tell(node_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node_json.write_text(json.dumps(WORKER))
    assert gpu_report.main() == 0
    assert "no GPUs are promised" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "what GPUs this machine should have is not known"),
        (json.dumps({"gpus": "2"}), "gpus must be a number"),
        (json.dumps({"gpus": 2}), "labels, supernet, pod_mtu: missing"),
    ],
)
def test_a_machine_that_does_not_know_what_it_is(
    node_json: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    node_json.write_text(text)
    assert gpu_report.main() == 1
    assert says in capsys.readouterr().err


def test_a_machine_that_does_not_know_where_it_is(node_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (node_json.parent / "node.env").unlink()
    assert gpu_report.main() == 1
    assert "no name yet: see longhaul-node-place.service" in capsys.readouterr().err


def test_the_program_starts(rootfs: Path) -> None:
    program = rootfs / "usr/local/lib/longhaul/longhaul-program"
    helped = subprocess.run(
        [sys.executable, "-B", program, "gpu.report", "--help"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert "the node controller removes the taint" in " ".join(helped.stdout.split())
