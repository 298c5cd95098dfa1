"""Files and output of the command, word for word.

After an intended change: ``pytest tests/longhaul/init --update-golden``.
"""

from __future__ import annotations

import pytest
import yaml

from longhaul import cli
from longhaul.init.document import SCHEMA
from longhaul.init.sizes import SIZES
from longhaul.terminal.exits import Exit
from tests.longhaul.init.asked import AWS, LEAST, RACK, Here
from tests.support.golden import Golden

CASES: dict[str, tuple[str, ...]] = {
    "trial": ("--size", "trial"),
    "hybrid": (
        *AWS,
        *("--azure-machine-type", "Standard_ND96isr_H100_v5", "--azure-max", "8"),
        *RACK,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_init_writes_and_says(here: Here, case: str, golden: Golden) -> None:
    done = here.init(*LEAST, *CASES[case])
    assert done.code == Exit.OK, done.err
    found = {name: (here.stacks / name).read_text(encoding="utf-8") for name in here.names()}
    for name, text in {**found, "stdout": done.out}.items():
        golden(f"{case}.{name}", text)


def test_json_is_what_was_written(here: Here) -> None:
    done = here.init(*LEAST, *AWS, *RACK, "--json")
    said = done.document()
    assert said["files"] == ["stacks/Pulumi.train.yaml", "stacks/hosts.train.yaml"]
    raw = yaml.safe_load((here.stacks / "Pulumi.train.yaml").read_text())["config"]["longhaul:environment"]
    assert {key: said["content"][key] for key in ("name", "supernet", "domain")} == {
        key: raw[key] for key in ("name", "supernet", "domain")
    }
    assert list(said["content"]["sites"]) == list(raw["sites"])
    assert len(said["next"]) == 5
    assert any("SSH host keys" in note for note in said["notes"])


def test_every_command_that_is_named_is_one(here: Here) -> None:
    for words in CASES.values():
        done = here.init(*LEAST, *words, "--json", "--force")
        for command in done.document()["next"]:
            program, *given = command.split()
            assert program == "longhaul"
            assert cli.parse(given).options.env == "train"


def test_the_text_says_what_it_ought_to(here: Here) -> None:
    """An editor finds the schema, and no line is too wide to read."""
    here.init(*LEAST, *AWS, *RACK)
    for name, kind in (("Pulumi.train.yaml", "environment"), ("hosts.train.yaml", "hosts")):
        lines = (here.stacks / name).read_text().splitlines()
        assert lines[0] == SCHEMA.format(name=kind)
        assert max(len(line) for line in lines if "image: " not in line) <= 120


def test_help_tells_every_size(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["init", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in SIZES)


def test_a_name_that_yaml_would_read_as_something_else_is_kept(here: Here) -> None:
    words = [word if word != "train" else "null" for word in LEAST]
    assert here.init(*words, "--gateway", "203.0.113.10", "--host", "true").code == Exit.OK
    environment = here.load("null")
    assert environment.name == "null"
    assert [host.name for host in environment.hosts] == ["true"]
