"""``longhaul plan``: the engine's commands that it runs, the files that it reads, its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout, FakeEngine
from tests.longhaul.judgement.steps import Step, machine, stack, step, text

DOCUMENTS = Path(__file__).parent / "documents"
SAFE = step("update", "longhaul:Nothing", "dev-x", {"a": 1}, {"a": 2}, custom=False)
TAGS = {"tags": {"longhaul-environment": "dev", "longhaul-site": "weu"}}
BALANCER = "azure-native:network:LoadBalancer"
CARE = step("update", BALANCER, "dev-api", {"a": 1, **TAGS}, {"a": 2, **TAGS})
UNTAGGED = step("create", BALANCER, "dev-api")
REFUSED = step("delete", "azure-native:keyvault:Vault", "dev-control-plane-vault")


def says(engine: FakeEngine, *steps: Step) -> None:
    engine.has_stack()
    engine.previews(text(steps))


@pytest.mark.parametrize(
    ("steps", "options", "code"),
    [
        ((SAFE,), (), Exit.OK),
        ((SAFE,), ("--strict",), Exit.OK),
        ((CARE,), (), Exit.OK),
        ((CARE,), ("--strict",), Exit.FAILED),
        ((CARE, REFUSED), (), Exit.REFUSED),
        ((REFUSED,), ("--strict",), Exit.REFUSED),
        ((UNTAGGED,), (), Exit.REFUSED),
    ],
)
def test_the_exit_code_is_the_verdict(
    steps: tuple[Step, ...], options: tuple[str, ...], code: int, checkout: Checkout, engine: FakeEngine
) -> None:
    says(engine, *steps)
    assert checkout.run("plan", "--env", "dev", *options).returncode == code


def test_refusal_has_a_code_of_its_own() -> None:
    assert Exit.REFUSED not in {code for code in Exit if code.name != "REFUSED"}


def test_it_runs_the_engines_preview_and_compares_with_the_stack(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, CARE)
    checkout.environ["PULUMI_ENABLE_STREAMING_JSON_PREVIEW"] = "true"
    done = checkout.run("plan", "--env", "dev", "--", "--refresh")
    (call,) = engine.calls()
    assert call["words"][0] == "preview"
    assert {"--json", "--refresh"} <= set(call["words"])
    assert call["environ"]["PULUMI_BACKEND_URL"] == f"file://{checkout.backend}"
    assert f"compared with the stack in file://{checkout.backend}" in " ".join(done.stdout.split())


def test_without_a_stack_it_is_a_new_environment(checkout: Checkout, engine: FakeEngine) -> None:
    engine.previews(text([step("create", BALANCER, "dev-api", after=TAGS)]))
    done = checkout.run("plan", "--env", "dev")
    assert done.returncode == Exit.OK
    assert done.stdout.startswith("dev: new\n")
    assert "compared with nothing: a new environment" in done.stdout


def test_an_example_is_planned_without_a_copy_and_compared_with_nobodys_stack(
    checkout: Checkout, engine: FakeEngine
) -> None:
    engine.has_stack("hybrid")
    engine.previews(text([]))
    done = checkout.run("plan", "--example", "hybrid")
    assert done.returncode == Exit.OK, done.stderr
    assert "compared with nothing: a new environment" in done.stdout
    (call,) = [call for call in engine.calls() if call["words"][0] == "preview"]
    assert "longhaul-example-" in call["cwd"]
    assert not Path(call["cwd"]).exists()
    assert call["environ"]["PULUMI_BACKEND_URL"] != f"file://{checkout.backend}"


def test_a_failed_preview_is_no_plan(checkout: Checkout, engine: FakeEngine) -> None:
    engine.previews(text([], diagnostics=[{"severity": "error", "message": "no such zone"}]))
    engine.fails("preview")
    done = checkout.run("plan", "--env", "dev")
    assert (done.returncode, done.stdout) == (Exit.FAILED, "")
    assert "no such zone" in done.stderr


def test_a_preview_that_says_nothing_is_no_plan(checkout: Checkout, engine: FakeEngine) -> None:
    engine.previews("")
    engine.fails("preview")
    done = checkout.run("plan", "--env", "dev")
    assert (done.returncode, done.stdout) == (Exit.FAILED, "")
    assert "nothing to judge" in done.stderr


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_preview_of_earlier_needs_no_engine(
    form: str, checkout: Checkout, engine: FakeEngine, tmp_path: Path
) -> None:
    file = tmp_path / "preview.json"
    file.write_text(text([stack("dev"), CARE]))
    done = checkout.run("plan", "--env", "dev", "--from", str(file), "--format", form)
    assert done.returncode == Exit.OK
    assert "needs care" in done.stdout
    assert "preview.json" in done.stdout
    assert str(tmp_path) not in done.stdout
    assert engine.calls() == []


def test_several_previews_are_one_plan(checkout: Checkout, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in ("a", "b")]
    for file, one, name in zip(files, (CARE, REFUSED), ("dev", "dev-objects"), strict=True):
        file.write_text(text([stack(name), one], same=2))
    options = [word for file in files for word in ("--from", str(file))]
    plan = json.loads(checkout.run("plan", "--env", "dev", *options, "--format", "json").stdout)
    assert (plan["verdict"], plan["same"], plan["counts"]) == ("refused", 4, {"change": 1, "destroy": 1})


def test_the_file_of_before(checkout: Checkout, tmp_path: Path) -> None:
    base = tmp_path / "base" / "Pulumi.dev.yaml"
    base.parent.mkdir()
    shutil.copy(checkout.stack_file, base)
    raw: dict[str, Any] = checkout.environment()
    raw["supernet"] = "10.80.0.0/12"
    checkout.write(raw)
    preview = tmp_path / "preview.json"
    preview.write_text(text([stack("dev"), machine("update", "dev-api-0")]))
    done = checkout.run("plan", "--env", "dev", "--from", str(preview), "--base", str(base))
    assert done.returncode == Exit.REFUSED
    assert "supernet: 10.64.0.0/12 -> 10.80.0.0/12" in " ".join(done.stdout.split())


def test_without_a_stack_the_file_of_before_is_compared_with(
    checkout: Checkout, engine: FakeEngine, tmp_path: Path
) -> None:
    base = tmp_path / "prod.old"
    shutil.copy(checkout.stack_file, base)
    raw: dict[str, Any] = checkout.environment()
    raw["control_plane"]["api"]["machine_type"] = "Standard_D16s_v5"
    checkout.write(raw)
    checkout.environ["PULUMI_BACKEND_URL"] = ""
    made = {"type": "pulumi:pulumi:Stack", "custom": False}
    created = {"op": "create", "urn": "urn:pulumi:dev::longhaul::pulumi:pulumi:Stack::x", "newState": made}
    engine.previews(text([created]))
    done = checkout.run("plan", "--env", "dev", "--base", str(base))
    said = " ".join(done.stdout.split())
    assert done.returncode == Exit.OK
    assert said.startswith("dev: needs care")
    assert "compared with the earlier file alone" in said
    assert "new environment" not in said + done.stderr
    assert "dev: no backend is chosen, so the two files alone are compared\n" in done.stderr
    assert "control_plane.api.machine_type: Standard_D8s_v5 -> Standard_D16s_v5" in said


def test_a_file_of_before_that_is_of_another_environment(checkout: Checkout, tmp_path: Path) -> None:
    base = tmp_path / "copy"
    base.write_text(checkout.stack_file.read_text().replace("name: dev", "name: other"))
    done = checkout.run("plan", "--env", "dev", "--base", str(base))
    assert done.returncode == Exit.USAGE
    assert "it belongs to other, not to dev" in done.stderr


def test_what_is_there_already_and_is_not_looked_up_is_said(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, CARE)
    shutil.rmtree(checkout.plugin("azure-native"))
    sentence = "sites.weu.existing names was not looked up: a stand-in replaces the azure-native plugin"
    assert sentence not in " ".join(checkout.run("plan", "--env", "dev").stdout.split())
    raw = checkout.environment()
    raw["sites"]["weu"]["existing"] = {"resource_group": "rg-corp"}
    checkout.write(raw)
    plan = checkout.run("plan", "--env", "dev").stdout
    assert sentence in " ".join(plan.partition("Not known")[2].split())
    assert sentence in checkout.run("plan", "--raw", "--env", "dev").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--from", "nowhere.json"), "nowhere.json: No such file"),
        (("--base", "nowhere.yaml"), "nowhere.yaml"),
        (("--max-removed", "much"), "'much' is not a percentage"),
        (("--max-removed", "101"), "'101' is not a percentage"),
        (("--format", "pdf"), "invalid choice: 'pdf'"),
        (("--also", "pdf=plan.pdf"), "'pdf=plan.pdf' is not FORMAT=FILE"),
        (("--also", "json"), "'json' is not FORMAT=FILE"),
    ],
)
def test_what_cannot_be_used_is_said(options: tuple[str, ...], message: str, checkout: Checkout) -> None:
    done = checkout.run("plan", "--env", "dev", *options)
    assert done.returncode in (Exit.FAILED, Exit.USAGE)
    assert message in done.stderr
    assert "internal error" not in done.stderr


def test_the_same_plan_in_several_formats(checkout: Checkout, engine: FakeEngine, tmp_path: Path) -> None:
    says(engine, CARE)
    files = {form: tmp_path / f"plan.{form}" for form in ("json", "markdown")}
    also = [word for form, file in files.items() for word in ("--also", f"{form}={file}")]
    done = checkout.run("plan", "--env", "dev", *also)
    assert done.stdout.startswith("dev: needs care\n")
    assert json.loads(files["json"].read_text())["verdict"] == "needs care"
    assert files["markdown"].read_text().startswith("## ")
    assert len(engine.calls()) == 1


OBJECT = "urn:pulumi:dev-objects::longhaul::longhaul:Objects$kubernetes:apps/v1:Deployment::dns"


def both_stacks(checkout: Checkout, engine: FakeEngine) -> None:
    """Give each stack a preview with a change of its own."""
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    says(engine, CARE)
    engine.has_stack("dev-objects")
    made = {"type": "pulumi:pulumi:Stack", "custom": False}
    created = {"op": "create", "urn": "urn:pulumi:dev-objects::longhaul::pulumi:pulumi:Stack::x", "newState": made}
    gone = {"op": "delete", "urn": OBJECT, "oldState": {"custom": True}}
    engine.previews(text([created, gone]), stack="dev-objects")


def test_what_runs_on_the_cluster_is_part_of_the_plan(checkout: Checkout, engine: FakeEngine) -> None:
    both_stacks(checkout, engine)
    done = checkout.run("plan", "--env", "dev", "--format", "json", "--", "--refresh")
    plan = json.loads(done.stdout)
    assert (plan["counts"], plan["groups"]) == ({"make": 1, "change": 1, "destroy": 1}, 1)
    assert [place["site"] for place in plan["places"]] == ["weu", "on the cluster"]
    assert not [note for note in plan["notes"] if "cluster" in note or "no state" in note]
    first, second = engine.calls()
    assert second["words"][:3] == ["preview", "--stack", "dev-objects"]
    assert second["environ"]["KUBECONFIG"] == "/given/kubeconfig"
    assert {"--json", "--show-sames", "--refresh"} <= set(first["words"]) & set(second["words"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--no-objects",), "left out by --no-objects"),
        (("--", "--target", "urn:pulumi:dev::longhaul::x::y"), "--target names resources of one stack"),
    ],
)
def test_what_runs_on_the_cluster_can_be_left_out(
    options: tuple[str, ...], why: str, checkout: Checkout, engine: FakeEngine
) -> None:
    both_stacks(checkout, engine)
    done = checkout.run("plan", "--env", "dev", *options)
    assert f"The objects on the cluster were not compared: {why}" in " ".join(done.stdout.split())
    assert len(engine.calls()) == 1


def test_the_raw_preview_leaves_out_the_same(checkout: Checkout, engine: FakeEngine) -> None:
    both_stacks(checkout, engine)
    done = checkout.run("plan", "--raw", "--no-objects", "--env", "dev")
    assert "dev-objects: not looked at: left out by --no-objects" in done.stderr
    assert len(engine.calls()) == 1


@pytest.mark.parametrize(
    "words", [("--strict",), ("--base", "a"), ("--from", "a"), ("--also", "json=a"), ("--max-removed", "3")]
)
def test_the_raw_preview_is_not_judged(checkout: Checkout, engine: FakeEngine, words: tuple[str, ...]) -> None:
    done = checkout.run("plan", "--raw", "--env", "dev", *words)
    assert done.returncode == Exit.USAGE
    assert f"--raw judges nothing: leave out {words[0]}" in done.stderr
    assert engine.calls() == []


@pytest.mark.usefixtures("vault_away")
def test_without_the_clusters_api_it_says_what_is_not_known(checkout: Checkout, engine: FakeEngine) -> None:
    both_stacks(checkout, engine)
    del checkout.environ["LONGHAUL_KUBECONFIG"]
    done = checkout.run("plan", "--env", "dev")
    assert done.returncode == Exit.OK
    assert "The objects on the cluster were not compared: the vault of dev" in " ".join(done.stdout.split())
    assert len(engine.calls()) == 1


def test_before_anything_runs_on_the_cluster_it_says_so(checkout: Checkout, engine: FakeEngine) -> None:
    says(engine, CARE)
    done = checkout.run("plan", "--env", "dev")
    assert "were not compared: there is no such stack yet" in " ".join(done.stdout.split())


def test_a_failed_preview_of_what_runs_on_the_cluster_is_no_plan(checkout: Checkout, engine: FakeEngine) -> None:
    both_stacks(checkout, engine)
    engine.fails("preview", stack="dev-objects")
    done = checkout.run("plan", "--env", "dev")
    assert (done.returncode, done.stdout) == (Exit.FAILED, "")
    assert "the engine's preview of dev-objects ended with 1" in done.stderr
