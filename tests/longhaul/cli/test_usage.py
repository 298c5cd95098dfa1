"""Slips of a person at the command line, and the words that a shell types for them."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from components.model.loading.errors import ConfigurationError, Problem
from longhaul import cli
from longhaul.project.checkout import find_project
from longhaul.project.context import Context, state_folder
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["valdate"], "longhaul valdate: no such command; did you mean validate?"),
        (["fly"], "longhaul fly: no such command; longhaul --help"),
        (["validate", "--jsn"], "unrecognized arguments: --jsn; did you mean --json?"),
        (
            ["plan", "--markdwon=x", "--env", "dev"],
            "unrecognized arguments: --markdwon=x; arguments for the program that it runs",
        ),
        (["init", "--aws-sit=x"], "did you mean --aws-site?"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == Exit.USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("env", "meant"), [("dve", "dev"), ("prod", "--example prod"), ("x", None)])
def test_a_slip_in_an_environments_name(
    checkout: Checkout, env: str, meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["validate", "--project", str(checkout.path), "--env", env]) == Exit.USAGE
    said = capsys.readouterr().err
    assert (f"; did you mean {meant}?" in said) if meant else ("did you mean" not in said)


DEEP = f"a: {'[' * 5000}{']' * 5000}"
MULTIPLIED = "\n".join(
    ["a: &a 1", *(f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in pairwise("abcdefgh"))]
)
VALIDATED = ["validate", "--json"]


@pytest.mark.parametrize("words", [VALIDATED, [*VALIDATED, "--env", "dev"], ["show", "--env", "dev"]])
@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        (DEEP, "nests more than 64 lists and mappings"),
        (MULTIPLIED, "repeats more than 100,000 values by aliases"),
        ("name: 7", "holds 'name' twice"),
    ],
    ids=["deep", "aliases", "twice"],
)
def test_the_projects_own_file_has_the_same_limits(
    more: str, wrong: str, words: list[str], checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    path = checkout.path / "Pulumi.yaml"
    path.write_text(f"{path.read_text()}\n{more}\n")
    assert cli.main([*words, "--project", str(checkout.path)]) == Exit.USAGE
    said = capsys.readouterr()
    told = json.loads(said.out)["problems"][0] if said.out else {"file": str(path), "wrong": said.err}
    assert told["file"] == str(path)
    assert wrong in told["wrong"]


@pytest.mark.parametrize(
    ("made", "wrong"),
    [("none", "does not exist"), ("directory", "is a directory"), ("dead link", "is a link to")],
)
def test_a_file_that_is_none_is_told_to_programs_too(
    made: str, wrong: str, checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    path = checkout.path / "stacks" / "Pulumi.odd.yaml"
    if made == "directory":
        path.mkdir()
    elif made == "dead link":
        path.symlink_to("nowhere")
    assert cli.main(["validate", "--json", "--project", str(checkout.path), "--env", "odd"]) == Exit.USAGE
    told = json.loads(capsys.readouterr().out)
    assert [problem["file"] for problem in told["problems"]] == [str(path)]
    assert wrong in told["problems"][0]["wrong"]


def test_a_neighbour_that_cannot_be_read_is_a_warning(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout.path / "stacks" / "Pulumi.broken.yaml").write_text("a: [")
    assert cli.main(["validate", "--project", str(checkout.path), "--env", "dev"]) == Exit.OK
    assert "Pulumi.dev.yaml was not compared with this file" in capsys.readouterr().out


def answer(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == Exit.OK
    return capsys.readouterr().out


def test_the_version(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert answer(["--version"], capsys) == f"longhaul {project['version']}\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_scripts_of_their_own(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = answer(["--completion", shell], capsys)
    assert "longhaul" in script
    assert "Pulumi" in script


def test_bash_completes(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands, options, choices, environments of the checkout, and examples."""
    script = answer(["--completion", "bash"], capsys)
    # Bash expands the words that it completes with: a branch's file names are not to be run.
    for name in ("Pulumi.dev-objects.yaml", "Pulumi.$(touch${IFS}made).yaml"):
        (checkout.path / "stacks" / name).write_text("config: {}\n")
    lines = ("va", "show --e", "up --only i", 'status --env ""', 'plan --example ""')
    asked = "".join(f"t longhaul {line}\n" for line in lines)
    function = 't() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _shtab_longhaul; echo "${COMPREPLY[*]}"; }'
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\n{function}\n{asked}"],
        cwd=checkout.path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["validate", "--env --example", "infrastructure", "dev", "hybrid prod"]
    assert not (checkout.path / "made").exists()


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_validate_tells_programs(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["validate", "--project", str(checkout.path), "--json"]
    assert cli.main(words) == Exit.OK
    assert document(capsys) == {"valid": True, "environments": ["dev"], "problems": [], "warnings": []}
    raw = checkout.environment()
    raw["control_plane"]["site"] = "mars"
    checkout.write(raw)
    assert cli.main([*words, "--env", "dev"]) == Exit.USAGE
    said = document(capsys)
    assert (said["valid"], said["environments"]) == (False, [])
    (problem,) = [one for one in said["problems"] if one["key"] == "control_plane.site"]
    assert problem["file"] == str(checkout.stack_file)
    assert problem["line"] > 1
    assert problem["write"]


def test_validate_refuses_an_image_whose_kubelet_the_api_servers_do_not_serve(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(checkout.home))
    raw = checkout.environment()
    raw["versions"] = {"kubernetes": "1.36.4"}
    raw["sites"]["use1"] = {"kind": "aws", "region": "us-east-1", "image": "ami-0123456789abcdef0"}
    raw["pools"] = {"cpu": {"site": "use1", "machine_type": "m7i.xlarge", "min": 1, "max": 2}}
    checkout.write(raw)
    project = find_project(checkout.path)
    folder = state_folder(Context(project=project, env="dev", lab=None), {"XDG_STATE_HOME": str(checkout.home)})
    image = folder / "images" / "baked"
    image.mkdir(parents=True)
    (image / "image.json").write_text(json.dumps({"image": raw["sites"]["use1"]["image"]}))
    words = ["validate", "--project", str(checkout.path), "--json"]
    for kubelet, code in (("1.36.1", Exit.OK), ("1.37.2", Exit.USAGE)):
        (image / "manifest.json").write_text(json.dumps({"format": 1, "versions": {"kubernetes": kubelet}}))
        assert cli.main(words) == code
        told = document(capsys)["problems"]
        assert [(one["key"], one["line"] > 1) for one in told] == ([("sites.use1.image", True)] if code else [])


def problems(number: int, *, wrong: str = "is missing") -> list[Problem]:
    return [
        Problem(file="hosts.yaml", line=10 + index, key=f"hosts.{index}.site", wrong=wrong, write="site: colo")
        for index in range(number)
    ]


def test_a_hundred_hosts_that_lack_the_same_key_are_one_thing_to_mend() -> None:
    said = str(ConfigurationError([*problems(120), *problems(2, wrong="'mars' is no site")]))
    assert said.splitlines() == [
        "122 problems in the environment:",
        "  hosts.yaml:10: hosts.0.site: is missing",
        "    write: site: colo",
        "    the same in 119 more places: hosts.1.site (line 11), hosts.2.site (line 12), hosts.3.site (line 13), "
        "hosts.4.site (line 14), hosts.5.site (line 15), …",
        "  hosts.yaml:10: hosts.0.site: 'mars' is no site",
        "    write: site: colo",
        "  hosts.yaml:11: hosts.1.site: 'mars' is no site",
        "    write: site: colo",
    ]
