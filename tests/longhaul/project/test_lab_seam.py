"""In an environment that is a lab, the command continues inside the lab."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from components.model import load
from lab.state import InitRecord
from longhaul.project.checkout import find_project
from longhaul.project.context import Context
from longhaul.project.lab_seam import ON_LAPTOP, find_lab, require_cloud
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.conftest import UP, Checkout, FakeEngine
from tests.model import make
from tests.support.programs import write_program


@pytest.fixture(name="lab")
def _lab(checkout: Checkout) -> Path:
    """A lab whose process 1 is this test; each entry into it is recorded."""
    folder = checkout.path / ".lab" / "dev"
    enters = f'echo entered >> {folder}/entered\nPULUMI_BACKEND_URL=file://{folder}/pulumi exec "$@"'
    write_program(folder / "enter", f"#!/bin/sh\n{enters}\n")
    record = InitRecord.of(os.getpid(), port=21001)
    (folder / "lab.json").write_text(json.dumps(vars(record)))
    return folder


def stop(lab: Path) -> None:
    content = json.loads((lab / "lab.json").read_text())
    (lab / "lab.json").write_text(json.dumps({**content, "started": content["started"] - 1}))


@pytest.mark.parametrize("command", ["up", "destroy", "plan"])
def test_the_engine_runs_inside_once(checkout: Checkout, engine: FakeEngine, lab: Path, command: str) -> None:
    engine.previews("{}")
    words = {"plan": ["--raw"], "up": ["--yes", "--only", "infrastructure"]}.get(command, ["--yes"])
    done = checkout.run(command, *words, "--env", "dev", "--", "--parallel", "2")
    assert done.returncode == Exit.OK, done.stderr
    assert (lab / "entered").read_text() == "entered\n"
    if command == "destroy":
        return
    last = engine.calls()[-1]
    assert last["words"][0] == {"plan": "preview"}.get(command, command)
    assert last["words"][-2:] == ["--parallel", "2"]


def test_a_labs_stack_file_is_not_written_to(checkout: Checkout, engine: FakeEngine, lab: Path) -> None:
    """Git tracks that file, and the lab's salt has no use outside the lab."""
    checkout.run(*UP)
    init, up = engine.calls()
    assert init["words"][:2] == ["stack", "init"]
    assert init["cwd"] != str(checkout.path)
    assert up["words"][3:5] == ["--config-file", str(lab / "Pulumi.dev.yaml")]
    assert up["config"] == checkout.stack_file.read_text()


@pytest.mark.parametrize(
    "words", [["up", "--yes"], ["destroy", "--yes"], ["status"], ["kubeconfig"], ["shell", "dev-etcd-0"]]
)
def test_a_lab_that_is_down_is_unreachable(checkout: Checkout, engine: FakeEngine, lab: Path, words: list[str]) -> None:
    stop(lab)
    done = checkout.run(*words, "--env", "dev")
    assert done.returncode == Exit.UNREACHABLE
    assert "make lab" in done.stderr
    assert engine.calls() == []
    assert not (lab / "entered").exists()


@pytest.mark.parametrize("command", ["status", "kubeconfig"])
def test_an_example_that_is_nowhere_is_told_so(checkout: Checkout, command: str) -> None:
    raw = checkout.environment()
    raw["sites"]["weu"]["subscription"] = "00000000-0000-4000-8000-000000000001"
    checkout.write(raw)
    done = checkout.run(command, "--env", "dev")
    assert done.returncode == Exit.UNREACHABLE
    assert "the lab 'dev' is not up: `make lab ENV=dev` starts it. For real clouds, write your" in done.stderr
    assert "sites.weu.subscription, which has a placeholder (00000000-0000-4000-8000-000000000001)" in done.stderr


def test_the_smaller_lab_names_the_lab_with_everything_too(root: Path) -> None:
    with pytest.raises(CommandError, match=r"not up: `make lab` starts it \(`make lab ENV=full` for full\)") as raised:
        require_cloud(load(root / "stacks" / "Pulumi.lab.yaml"))
    assert raised.value.code is Exit.UNREACHABLE


def test_a_preview_needs_no_lab(checkout: Checkout, engine: FakeEngine, lab: Path) -> None:
    stop(lab)
    engine.previews("{}")
    assert checkout.run("plan", "--raw", "--env", "dev").returncode == Exit.OK
    assert not (lab / "entered").exists()


def test_shell_knows_the_machines(checkout: Checkout, lab: Path) -> None:
    done = checkout.run("shell", "--env", "dev", "dev-etcd-5")
    assert done.returncode == Exit.USAGE
    assert "dev-etcd-0, dev-events-0, dev-api-0" in done.stderr


def test_shell_outside_a_lab_says_how(checkout: Checkout) -> None:
    done = checkout.run("shell", "--env", "dev", "dev-etcd-0")
    assert done.returncode == Exit.UNREACHABLE
    assert "bastion" in done.stderr


def test_shell_names_no_bastion_of_azure_s_for_a_machine_of_a_pool(checkout: Checkout) -> None:
    raw = checkout.environment()
    raw["sites"]["use1"] = {**make.AWS}
    raw["pools"] = {"cpu": {"site": "use1", "machine_type": "m6id.xlarge", "min": 0, "max": 1}}
    checkout.write(raw)
    done = checkout.run("shell", "--env", "dev", "i-00000000000000000")
    assert done.returncode == Exit.UNREACHABLE
    assert "kubectl debug node/NODE --profile=sysadmin" in done.stderr
    assert "bastion" not in done.stderr


def test_on_the_laptop_there_is_no_port_of_the_host_s(
    checkout: Checkout, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = Context(project=find_project(checkout.path), env="dev", lab=find_lab(checkout.path, "dev"))
    assert where.lab_with_port is not None
    assert where.lab_with_port.port() == 21001
    monkeypatch.setenv(ON_LAPTOP, "yes")
    assert where.lab_with_port is None
    assert where.lab is not None
