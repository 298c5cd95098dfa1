"""``longhaul plan --raw``: the state that it compares with, and that it leaves no trace."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from longhaul.engine.preview_counts import parse_preview
from longhaul.engine.throwaway import can_decrypt, copy_stack_file, unlogged_home
from longhaul.project.stack_file_secrets import PLACEHOLDER
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout, FakeEngine

ENGINE_SAYS = json.dumps(
    {
        "steps": [],
        "duration": 1,
        "changeSummary": {"create": 3, "same": 5, "update": 2, "replace": 1, "delete": 4, "create-replacement": 1},
    }
)


@pytest.fixture(autouse=True)
def _previews(engine: FakeEngine) -> None:
    engine.previews(ENGINE_SAYS)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_json_is_one_line_of_counts(checkout: Checkout) -> None:
    done = checkout.run("plan", "--raw", "--env", "dev", "--format", "json")
    assert done.returncode == Exit.OK
    digest = json.loads(done.stdout)
    assert digest.pop("seconds") > 0
    assert digest == {"create": 3, "update": 2, "replace": 1, "delete": 4, "same": 5, "resources": 11}


def test_it_needs_no_backend_and_touches_neither_project_nor_backend(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ |= {"PULUMI_BACKEND_URL": "", "PULUMI_CONFIG_PASSPHRASE": ""}
    before = tree(checkout.path)
    done = checkout.run("plan", "--raw", "--env", "dev")
    assert done.returncode == Exit.OK
    assert "no backend is chosen" in done.stderr
    assert tree(checkout.path) == before
    assert tree(checkout.backend) == {}
    chosen = Path(engine.calls()[0]["environ"]["PULUMI_BACKEND_URL"].removeprefix("file://"))
    assert not chosen.exists(), "the backend of the preview is thrown away"


def test_a_throwaway_stack_has_a_passphrase_of_its_own(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.run("plan", "--raw", "--env", "dev")
    checkout.run("plan", "--raw", "--env", "dev")
    first, second = (call["environ"]["PULUMI_CONFIG_PASSPHRASE"] for call in engine.calls())
    assert len({first, second, "correct horse"}) == 3


def test_the_stack_in_the_backend_is_compared_with(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    done = checkout.run("plan", "--raw", "--env", "dev")
    assert f"comparing with the stack in file://{checkout.backend}" in done.stderr
    call = engine.calls()[0]
    assert call["environ"]["PULUMI_BACKEND_URL"] == f"file://{checkout.backend}"
    assert call["environ"]["PULUMI_CONFIG_PASSPHRASE"] == "correct horse"


def test_the_engine_gets_a_copy_of_the_stack_file_to_write_into(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    checkout.run("plan", "--raw", "--env", "dev")
    call = engine.calls()[0]
    given = call["words"][call["words"].index("--config-file") + 1]
    assert given != str(checkout.stack_file)
    assert call["config"] == checkout.stack_file.read_text()


def test_without_the_passphrase_it_previews_as_new_and_says_so(checkout: Checkout, engine: FakeEngine) -> None:
    engine.has_stack()
    variables = checkout.variables()
    checkout.write(checkout.environment(), encryptionsalt="v1:of:another:passphrase")
    done = _run_without(checkout, variables, "PULUMI_CONFIG_PASSPHRASE")
    assert done == Exit.OK
    call = engine.calls()[0]
    assert "encryptionsalt" not in call["config"]
    assert call["environ"]["PULUMI_BACKEND_URL"] != f"file://{checkout.backend}"


def _run_without(checkout: Checkout, variables: dict[str, str], name: str) -> int:
    del variables[name]
    argv = checkout.argv("plan", "--raw", "--env", "dev")
    return subprocess.run(argv, cwd=checkout.path, env=variables, capture_output=True, check=False).returncode


def test_a_stand_in_is_named_with_the_way_to_the_real_plugin(checkout: Checkout, engine: FakeEngine) -> None:
    shutil.rmtree(checkout.plugin("azure-native"))
    done = checkout.run("plan", "--raw", "--env", "dev")
    number = version("pulumi-azure-native")
    assert f"azure-native plugin {number} is not installed, so a stand-in previews in its place" in done.stderr
    assert "has no checksum of pulumi-resource-azure-native" in done.stderr
    assert "/plugins:" in engine.calls()[0]["environ"]["PATH"]


def test_a_new_environment_is_previewed_without_an_account_once_plugins_are_installed(
    checkout: Checkout, engine: FakeEngine
) -> None:
    checkout.gains_hosts()
    done = checkout.run("plan", "--raw", "--env", "dev")
    number = version("pulumi-aws")
    assert f"aws plugin {number} finds no credentials here, so a stand-in previews in its place" in done.stderr
    checkout.environ |= {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "made-up"}
    assert f"aws plugin {number}" not in checkout.run("plan", "--raw", "--env", "dev").stderr


def test_an_installed_plugin_needs_no_stand_in(checkout: Checkout, engine: FakeEngine) -> None:
    checkout.environ |= {"AZURE_CLIENT_ID": "made-up", "AZURE_CLIENT_SECRET": "made-up"}
    done = checkout.run("plan", "--raw", "--env", "dev")
    assert "stand-in" not in done.stderr
    assert "/plugins:" not in engine.calls()[0]["environ"]["PATH"]


def test_the_engine_writes_no_log_into_its_home(tmp_path: Path) -> None:
    home, given = tmp_path / "home", tmp_path / "given"
    (home / "plugins").mkdir(parents=True)
    (home / "logs").mkdir()
    (home / "credentials.json").write_text("{}")
    assert unlogged_home(given, {"PULUMI_HOME": str(home)}) == {"PULUMI_HOME": str(given)}
    assert (given / "logs").is_file(), "a folder cannot be made where a file is"
    assert (given / "plugins").resolve() == home / "plugins"
    assert (given / "credentials.json").read_text() == "{}"


def test_a_home_that_is_not_there_is_made(tmp_path: Path) -> None:
    assert unlogged_home(tmp_path / "given", {"HOME": str(tmp_path)}) == {"PULUMI_HOME": str(tmp_path / "given")}


@pytest.mark.parametrize("verb", ["plan", "up"])
def test_the_engine_downloads_no_plugin_by_itself(verb: str, checkout: Checkout, engine: FakeEngine) -> None:
    name = "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"
    checkout.environ |= {name: "false", "LONGHAUL_KUBECONFIG": "/given/kubeconfig"}
    words = {"plan": ("--raw",), "up": ("--yes", "--only", "infrastructure")}
    checkout.run(verb, *words[verb], "--env", "dev")
    assert {call["environ"][name] for call in engine.calls()} == {"true"}


def test_up_and_destroy_say_which_plugin_is_missing(checkout: Checkout, engine: FakeEngine) -> None:
    shutil.rmtree(checkout.plugin("azure-native"))
    engine.has_stack()
    checkout.write(checkout.environment() | {"destroyable": True})
    for words in (("up", "--only", "infrastructure"), ("destroy",)):
        done = checkout.run(*words, "--yes", "--env", "dev")
        assert done.returncode == Exit.FAILED
        assert f"the engine has no plugin azure-native {version('pulumi-azure-native')}" in done.stderr
        assert "no server is asked (--offline, LONGHAUL_OFFLINE)" in done.stderr
    assert {"up", "destroy"}.isdisjoint(call["words"][0] for call in engine.calls())


def test_a_failed_preview_shows_the_engines_errors(checkout: Checkout, engine: FakeEngine) -> None:
    engine.previews(json.dumps({"diagnostics": [{"severity": "error", "message": "it is broken\n"}]}))
    engine.fails("preview")
    done = checkout.run("plan", "--raw", "--env", "dev", "--format", "json")
    assert done.returncode == Exit.FAILED
    assert "it is broken" in done.stderr
    assert done.stdout == ""


def test_a_preview_that_says_nothing_is_no_preview() -> None:
    assert parse_preview("error: boom") is None


def test_secrets_that_cannot_be_read_are_left_out_of_the_copy(tmp_path: Path) -> None:
    source, target = tmp_path / "a.yaml", tmp_path / "b.yaml"
    source.write_text(
        "encryptionsalt: v1:abc\nconfig:\n  a:b: {secure: v1:xyz}\n  a:c: [1, {secure: q}]\n  a:d: plain\n"
    )
    copy_stack_file(source, target, decrypts=False)
    text = target.read_text()
    assert "v1:" not in text
    assert text.count(PLACEHOLDER) == 2
    assert "plain" in text


def test_secrets_that_can_be_read_stay(tmp_path: Path) -> None:
    source, target = tmp_path / "a.yaml", tmp_path / "b.yaml"
    source.write_text("encryptionsalt: v1:abc\nconfig: {a:b: {secure: v1:xyz}}\n")
    copy_stack_file(source, target, decrypts=True)
    assert target.read_text() == source.read_text()


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("config: {}\n", {}, False),
        ("config: {}\n", {"PULUMI_CONFIG_PASSPHRASE": ""}, True),
        ("config: {}\n", {"PULUMI_CONFIG_PASSPHRASE_FILE": "/f"}, True),
        ("secretsprovider: azurekeyvault://v\n", {}, True),
        ("secretsprovider: passphrase\n", {}, False),
    ],
)
def test_who_can_decrypt(tmp_path: Path, text: str, environ: dict[str, str], expected: bool) -> None:
    source = tmp_path / "a.yaml"
    source.write_text(text)
    assert can_decrypt(source, environ) is expected
