"""``longhaul doctor``: the checks that it runs, and its exit codes."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clouds.aws import reader as aws
from clouds.azure import reader as azure
from clouds.azure.errors import AzureError
from clouds.base.findings import NotAskedError, Severity
from longhaul.doctor import command as doctor
from longhaul.doctor import this_machine
from longhaul.doctor.check_names import NAMES
from longhaul.doctor.checks import ASKING, NOT_IN_A_LAB, checks
from longhaul.doctor.run import run_checks
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout
from tests.longhaul.doctor.world import FILE, GOLDEN, VPC, Sdk, alone, named_environment, target


class Nobody:
    """Azure for a user who is not signed in."""

    def request(self, *_: Any, **__: Any) -> Any:
        raise AzureError("no Azure credential works", status=401)


def no_clients(service: str, region: str) -> Any:
    raise NotAskedError("there are no AWS credentials here")


@pytest.fixture(name="cut_off")
def _cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off: no cloud can be asked."""
    monkeypatch.setattr(azure, "shared", Nobody)
    monkeypatch.setattr(aws, "_signed_in", no_clients)
    monkeypatch.setattr(this_machine, "local_machine", alone)
    for name in ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_ACCESS_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def run(checkout: Checkout, *words: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--env")
    parser.add_argument("--project")
    doctor.add_arguments(parser)
    options = parser.parse_args(["--env", "dev", "--project", str(checkout.path), *words])
    return doctor.run(Invocation(command="doctor", options=options, rest=(), argv=()))


@pytest.mark.usefixtures("cut_off")
def test_with_nobody_to_ask_everything_is_unknown_and_nothing_breaks(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.gains_hosts()
    raw = checkout.environment()
    raw["sites"]["rack"]["gateways"][0]["public_address"] = "20.30.40.50"
    raw["sites"]["use1"] |= {"range": "10.65.0.0/16", "existing": {"vpc": VPC}}
    checkout.write(raw)
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://bucket")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "made-up")
    assert run(checkout, "--json") == Exit.UNREACHABLE
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["problem"] == 0
    assert {finding["check"] for finding in found["findings"]} == set(NAMES)
    asked = [finding for finding in found["findings"] if finding["check"] in ASKING]
    assert {finding["level"] for finding in asked} == {"unknown"}
    assert all(finding["where"] for finding in asked)


@pytest.mark.usefixtures("cut_off")
def test_one_check_alone(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setenv("HOME", str(checkout.home))
    monkeypatch.delenv("PULUMI_HOME", raising=False)
    assert run(checkout, "--only", "state", "--only", "durations") == Exit.FAILED
    text = capsys.readouterr().out
    assert text.startswith("dev: 2 problems, no warnings, 0 unknown, ")
    assert "images" not in text


def test_a_name_that_there_is_not_and_no_time_are_refused(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("--only", "weather"), ("--timeout", "0"), ("--timeout", "soon")):
        with pytest.raises(SystemExit) as raised:
            run(checkout, *words)
        assert raised.value.code == Exit.USAGE
    assert "not a number of seconds" in capsys.readouterr().err


def test_every_name_has_a_check_and_every_check_a_name() -> None:
    found = checks(target(named_environment()), alone())
    assert {check.name for check in found} == set(NAMES)
    assert {check.name for check in checks(target(), alone())} == set(NAMES) - {"existing"}, "nothing is named"
    assert [NAMES.index(check.name) for check in found] == sorted(NAMES.index(check.name) for check in found)
    assert {check.name for check in checks(target(), alone(), only=("quotas",))} == {"quotas"}
    assert set(ASKING) <= set(NAMES)


@pytest.mark.usefixtures("cut_off")
def test_a_labs_stand_ins_are_asked_only_what_they_answer(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws, "_signed_in", sdk)
    found = run_checks(checks(target(lab=True), alone(), only=NOT_IN_A_LAB), limit_s=60)
    assert {finding.check for finding in found} == set(NOT_IN_A_LAB)
    assert {finding.severity for finding in found} == {Severity.UNKNOWN}
    assert not sdk.operations


@pytest.mark.usefixtures("cut_off")
def test_where_says_file_and_key() -> None:
    found = run_checks(checks(target(), alone(), only=("images",)), limit_s=60)
    assert {place for finding in found for place in finding.where} == {f"sites.weu in {FILE}", f"sites.use1 in {FILE}"}


def test_the_command_itself_loads_no_sdk(root: Path) -> None:
    heavy = ("boto3", "botocore", "azure", "requests", "pydantic", "yaml")
    code = (
        "import sys, argparse; from longhaul.doctor import command as doctor; "
        "doctor.add_arguments(argparse.ArgumentParser()); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_has_every_check_and_its_example_is_a_report(root: Path) -> None:
    page = (root / "docs" / "doctor.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and "--only" not in line]
    assert rows == list(NAMES)
    example = [line.removeprefix("    ") for line in page.splitlines() if line.startswith("    ")]
    report = (GOLDEN / "report.txt").read_text(encoding="utf-8").splitlines()
    begin = example.index(report[0])
    assert example[begin + 1 :] == [line for line in report[1:] if line][: len(example) - begin - 1]
