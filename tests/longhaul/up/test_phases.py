"""``longhaul up`` phase by phase: the order, the input of each phase, and the effects of a failure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from components.model.secrets.vault import ISSUERS
from longhaul.engine.phase_outcome import PhaseOutcome, combined_exit_code
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import LIMIT_S, Checkout, FakeEngine
from tests.longhaul.fake_ansible import FakeAnsible
from tests.longhaul.terminal.test_progress import begins, ends

ALL = ("up", "--env", "dev", "--yes")
JUDGED = "preview --stack dev --suppress-outputs --show-sames --json --refresh"
INFRASTRUCTURE = "up --stack dev --suppress-outputs --yes --refresh --skip-preview"
OBJECTS = "up --stack dev-objects --suppress-outputs --yes --refresh"
CERTIFICATE = "pulumi-python:dynamic/longhaul:Certificate"


def row(said: str, phase: str) -> str:
    """Return the last line about a phase: that of the summary."""
    return [line for line in said.splitlines() if line.startswith(f"  {phase} ")][-1]


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.02)


def test_the_infrastructure_comes_first_and_the_rest_side_by_side(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    done = checkout.run(*ALL)
    assert done.returncode == Exit.OK, done.stderr
    assert engine.commands() == [JUDGED, INFRASTRUCTURE, OBJECTS]


def test_racks_and_objects_get_the_clusters_kubeconfig_whatever_the_user_has(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    checkout.environ["KUBECONFIG"] = "/of/another/cluster"
    checkout.run(*ALL)
    assert ansible.told()["KUBECONFIG"] == "/given/kubeconfig"
    assert engine.calls()[-1]["environ"]["KUBECONFIG"] == "/given/kubeconfig"


def test_ansible_is_told_which_environment_and_playbook(checkout: Checkout, ansible: FakeAnsible) -> None:
    assert checkout.run(*ALL, "--only", "hosts").returncode == Exit.OK
    told = ansible.told()
    assert (told["LONGHAUL_ENV"], told["LONGHAUL_PROJECT"]) == ("dev", str(checkout.path))
    playbooks = checkout.repository / "playbooks"
    assert told["words"] == ["--inventory", str(playbooks / "inventory.py"), str(playbooks / "site.yml")]
    assert told["ANSIBLE_CONFIG"] == str(playbooks / "ansible.cfg")


@pytest.mark.parametrize(
    ("phase", "commands"),
    [("infrastructure", [JUDGED, INFRASTRUCTURE]), ("preparation", []), ("hosts", []), ("objects", [OBJECTS])],
)
def test_one_phase_alone(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible, phase: str, commands: list[str]
) -> None:
    assert checkout.run(*ALL, "--only", phase).returncode == Exit.OK
    assert engine.commands() == commands
    assert (engine.folder / "ansible").exists() == (phase in ("preparation", "hosts"))


def test_without_racks_there_is_no_such_phase(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    engine.has_stack()
    done = checkout.run(*ALL)
    assert done.returncode == Exit.OK, done.stderr
    assert engine.commands() == [JUDGED, INFRASTRUCTURE, "stack init --no-select --stack dev-objects", OBJECTS]
    assert "hosts:" not in done.stderr


def test_the_objects_stack_file_says_whose_they_are(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    checkout.run(*ALL, "--only", "objects")
    written = checkout.path / "stacks" / "Pulumi.dev-objects.yaml"
    assert written.read_text() == "config:\n  longhaul:objects-of: dev\n"
    assert checkout.run("validate").stdout == "dev: valid\n"


def test_both_stacks_are_encrypted_with_the_environments_key(checkout: Checkout, engine: FakeEngine) -> None:
    key = "azurekeyvault://v.vault.azure.net/keys/pulumi"
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    checkout.write(checkout.environment(), secretsprovider=key, encryptedkey="Zm9v")
    assert checkout.run(*ALL).returncode == Exit.OK
    made = [words for words in engine.commands() if words.startswith("stack init")]
    assert made == [
        f"stack init --no-select --secrets-provider {key} --stack {name}" for name in ("dev", "dev-objects")
    ]


def test_a_key_of_its_own_is_kept(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    checkout.write(checkout.environment(), secretsprovider="awskms://alias/one")
    own = checkout.path / "stacks" / "Pulumi.dev-objects.yaml"
    own.write_text("secretsprovider: awskms://alias/two\nconfig:\n  longhaul:objects-of: dev\n")
    engine.has_stack()
    checkout.run(*ALL, "--only", "objects")
    assert engine.commands()[0] == "stack init --no-select --secrets-provider awskms://alias/two --stack dev-objects"


def test_after_a_failed_infrastructure_nothing_else_is_tried(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    engine.fails("up")
    assert checkout.run(*ALL).returncode == Exit.FAILED
    assert engine.commands() == [JUDGED, INFRASTRUCTURE]
    assert not (engine.folder / "ansible").exists()


def test_a_failed_phase_stops_no_other_and_is_named_with_the_way_to_go_on(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    ansible.fails()
    done = checkout.run(*ALL)
    assert done.returncode == Exit.FAILED
    assert engine.commands() == [JUDGED, INFRASTRUCTURE, OBJECTS]
    assert "failed in hosts; see above" in done.stderr
    assert "`longhaul up --env dev --yes` continues" in done.stderr


def test_the_racks_verdicts_come_last_where_not_all_is_well(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    no_key = {"task": "Refuse", "role": "preflight", "messages": ["no host key is pinned"]}
    ansible.finds(dev_gw_0={"state": "ok"}, dev_node_0={"state": "failed", "failed": no_key})
    done = checkout.run(*ALL, "--only", "hosts")
    assert done.returncode == Exit.FAILED
    lines = done.stderr.splitlines()
    at = next(number for number, line in enumerate(lines) if "not all hosts are as declared" in line)
    refused, summary, hint = lines[at + 1 : at + 4]
    assert refused.split(maxsplit=2) == ["dev-node-0", "refused", "no host key is pinned"]
    assert summary.strip() == "dev: 1 refused"
    assert "longhaul hosts --preflight --env dev" in hint
    assert row(done.stderr, "hosts").endswith("hosts: 1 ready, 1 refused")


def test_an_interrupt_reaches_every_phase_once(checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible) -> None:
    ansible.waits()
    engine.waits("dev-objects")
    process = checkout.start(*ALL)
    wait_for(engine.folder / "waiting")
    wait_for(engine.folder / "ansible-waiting")
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert json.loads((engine.folder / "caught").read_text()) == [signal.SIGINT]
    assert (engine.folder / "ansible-caught").read_text() == "1"


def test_a_hang_up_of_the_whole_group_reaches_every_phase_once(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    """A second interrupt would make the engine stop at once."""
    ansible.waits()
    engine.waits("dev-objects")
    process = checkout.start(*ALL, prepare=os.setsid)
    wait_for(engine.folder / "waiting")
    wait_for(engine.folder / "ansible-waiting")
    os.killpg(process.pid, signal.SIGHUP)
    assert process.wait(LIMIT_S) == Exit.INTERRUPTED
    assert json.loads((engine.folder / "caught").read_text()) == [signal.SIGINT]
    assert (engine.folder / "ansible-caught").read_text() == "1"


def test_a_killed_phase_failed_and_is_not_one_that_did_not_begin(
    checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible
) -> None:
    engine.waits("dev-objects")
    process = checkout.start(*ALL, stderr=subprocess.PIPE)
    wait_for(engine.folder / "waiting")
    pid = int((engine.folder / "waiting").read_text())
    os.kill(int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]), signal.SIGKILL)
    assert process.stderr is not None
    said = process.stderr.read().decode()
    assert process.wait(LIMIT_S) == Exit.FAILED
    assert "objects: its process ended with -9 and reported nothing" in said
    assert "failed in objects; see above" in said
    assert row(said, "objects").split()[1] == "failed"


def test_no_phase_outlives_a_killed_command(checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible) -> None:
    ansible.waits()
    engine.waits("dev-objects")
    process = checkout.start(*ALL)
    wait_for(engine.folder / "waiting")
    wait_for(engine.folder / "ansible-waiting")
    process.kill()
    process.wait(LIMIT_S)
    wait_for(engine.folder / "caught")
    wait_for(engine.folder / "ansible-caught")


def test_json_is_the_engines_alone(checkout: Checkout, engine: FakeEngine, ansible: FakeAnsible) -> None:
    done = checkout.run(*ALL, "--json")
    assert done.stdout == "dev is made\ndev-objects is made\n"
    assert "a task" not in done.stderr
    for words in (("--json", "--verbose"), ("--", "--json"), ("--", "-j")):
        assert checkout.run(*ALL, *words).stdout == done.stdout


def test_options_that_name_resources_want_to_know_of_which_stack(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    done = checkout.run(*ALL, "--", "--target", "urn:pulumi:dev::longhaul::x::y")
    assert done.returncode == Exit.USAGE
    assert "--only infrastructure" in done.stderr
    assert engine.calls() == []
    assert checkout.run(*ALL, "--only", "infrastructure", "--", "--target", "urn").returncode == Exit.OK


@pytest.mark.parametrize("words", [["--no-refresh"], ["--", "--refresh=false"]])
def test_the_clouds_are_read_first_unless_told_otherwise(
    checkout: Checkout, engine: FakeEngine, words: list[str]
) -> None:
    engine.has_stack()
    checkout.run(*ALL, "--only", "infrastructure", *words)
    assert "--refresh" not in engine.calls()[0]["words"]


def test_a_playbook_of_the_users_replaces_ours_and_is_found(checkout: Checkout, ansible: FakeAnsible) -> None:
    (checkout.path / "mine.yml").touch()
    done = checkout.run("ansible", "--env", "dev", "--", "--limit", "x", "mine.yml", "-e", "@vars.yml")
    assert done.returncode == Exit.OK
    assert ansible.told()["words"][2:] == ["--limit", "x", "mine.yml", "-e", "@vars.yml"]


@pytest.mark.usefixtures("vault_away")
def test_ansible_without_a_vault_goes_on_without_the_api(checkout: Checkout, ansible: FakeAnsible) -> None:
    del checkout.environ["LONGHAUL_KUBECONFIG"]
    done = checkout.run("ansible", "--env", "dev")
    assert done.returncode == Exit.OK
    assert "without the cluster's API" in done.stderr
    assert ansible.told()["KUBECONFIG"] == ""


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ((Exit.OK, Exit.OK), Exit.OK),
        ((Exit.FAILED, Exit.OK), Exit.FAILED),
        ((Exit.FAILED, Exit.INTERRUPTED), Exit.INTERRUPTED),
        ((Exit.OK, Exit.UNREACHABLE), Exit.UNREACHABLE),
        ((Exit.REFUSED, Exit.FAILED), Exit.REFUSED),
    ],
)
def test_one_code_for_all(codes: tuple[Exit, Exit], code: Exit) -> None:
    assert combined_exit_code([PhaseOutcome(title="one", code=one, seconds=1.0) for one in codes]) is code


def test_a_preview_counts_both_stacks(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    engine.has_stack()
    engine.has_stack("dev-objects")
    engine.previews(json.dumps({"changeSummary": {"same": 5}}))
    done = checkout.run("plan", "--raw", "--env", "dev", "--format", "json")
    assert done.returncode == Exit.OK, done.stderr
    assert json.loads(done.stdout)["objects"]["same"] == 5
    assert engine.calls()[1]["words"][:3] == ["preview", "--stack", "dev-objects"]
    assert engine.calls()[1]["environ"]["KUBECONFIG"] == "/given/kubeconfig"


@pytest.mark.usefixtures("vault_away")
def test_a_preview_without_the_clusters_api_is_of_the_first_stack(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.has_stack("dev-objects")
    engine.previews(json.dumps({"changeSummary": {"same": 5}}))
    done = checkout.run("plan", "--raw", "--env", "dev", "--format", "json")
    assert "objects" not in json.loads(done.stdout)
    assert "dev-objects: not looked at" in done.stderr


def test_a_destroyed_cluster_takes_the_state_of_its_objects_with_it(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.has_stack("dev-objects")
    assert checkout.run("destroy", "--env", "dev", "--yes").returncode == Exit.OK
    assert engine.commands() == [
        "destroy --stack dev --yes --run-program --suppress-outputs",
        "stack rm --yes --force --preserve-config --stack dev-objects",
    ]


def test_a_cluster_that_was_not_destroyed_keeps_it(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    engine.has_stack("dev-objects")
    engine.fails("destroy")
    assert checkout.run("destroy", "--env", "dev", "--yes").returncode == Exit.FAILED
    assert len(engine.calls()) == 1


@pytest.mark.parametrize("code", [0, 1], ids=["done", "failed"])
def test_renewed_certificates_are_handed_out_whatever_else_failed(
    checkout: Checkout, engine: FakeEngine, code: int
) -> None:
    """There are no credentials of a cloud here, so the holder cannot be asked, which is no failure."""
    engine.has_stack()
    engine.logs(begins("update", "dev-etcd-0-member", CERTIFICATE), ends("update", "dev-etcd-0-member", CERTIFICATE))
    engine.fails("up", code)
    done = checkout.run(*ALL, "--only", "infrastructure")
    assert done.returncode == code
    assert "dev-etcd-0 could not fetch its renewed certificates" in done.stderr
    assert "it tries every ten minutes" in done.stderr


def test_changed_issuers_are_handed_out(checkout: Checkout, engine: FakeEngine) -> None:
    """Whatever name people read for the type of the setting that has them."""
    engine.has_stack()
    kind = CERTIFICATE.replace("Certificate", "Setting")
    engine.logs(begins("update", f"dev-{ISSUERS}", kind), ends("update", f"dev-{ISSUERS}", kind))
    done = checkout.run(*ALL, "--only", "infrastructure")
    assert done.returncode == 0
    assert "dev-api-0 could not fetch its changed issuers" in done.stderr
