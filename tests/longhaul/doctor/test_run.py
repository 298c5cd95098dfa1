"""Checks that run in parallel, and the report of their findings."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator

import pytest

from clouds.base.doctor import DoctorQuestion
from clouds.base.findings import Finding, NotAskedError, Severity, ok, problem, unknown, warning
from longhaul.doctor.run import run_checks
from longhaul.doctor.text import exit_code, to_json, to_text
from longhaul.report.text import WIDTH
from longhaul.terminal.exits import Exit
from tests.longhaul.doctor.world import severities
from tests.support.golden import Golden


def check(name: str, *found: Finding | Exception) -> DoctorQuestion:
    def run() -> Iterable[Finding]:
        for one in found:
            if isinstance(one, Exception):
                raise one
            yield one

    return DoctorQuestion(name=name, where=(f"{name} itself",), run=run)


def test_the_worst_comes_first_and_the_rest_in_order() -> None:
    found = run_checks(
        (check("a", ok("well"), warning("hm", do="x")), check("b", problem("bad", do="x"), ok("fine"))), limit_s=60
    )
    assert [(finding.check, finding.what) for finding in found] == [
        ("b", "bad"),
        ("a", "hm"),
        ("a", "well"),
        ("b", "fine"),
    ]


def test_what_breaks_is_unknown_and_hides_nothing() -> None:
    refused = NotAskedError("nobody is there", do="sign in")
    found = run_checks((check("a", ok("well"), refused), check("b", KeyError("x"))), limit_s=60)
    assert severities(found) == [
        ("unknown", "not asked: nobody is there"),
        ("unknown", "the check itself failed (KeyError)"),
        ("ok", "well"),
    ]
    assert found[0].do == "sign in"
    assert found[1].where == ("b itself",)


def test_the_same_of_several_places_is_said_once() -> None:
    found = run_checks(
        (check("a", unknown("no", "x"), unknown("no", "y"), unknown("no", "x")), check("b", unknown("no", "x"))),
        limit_s=60,
    )
    assert [(finding.check, finding.where) for finding in found] == [("a", ("x", "y")), ("b", ("x",))]


def test_a_check_that_hangs_is_given_up_and_its_place_taken() -> None:
    release = threading.Event()

    def hangs() -> Iterator[Finding]:
        release.wait(60)
        yield ok("too late")

    try:
        stuck = DoctorQuestion(name="a", where=("there",), run=hangs)
        found = run_checks((stuck, check("b", ok("well"))), limit_s=0.2, at_once=1)
    finally:
        release.set()
    # On a busy machine the second may be late as well; what counts is that it got its turn.
    assert [finding.what for finding in found if finding.check == "a"] == ["no answer within 0.2 s"]
    assert {finding.check for finding in found} == {"a", "b"}


def test_checks_run_side_by_side() -> None:
    together = threading.Barrier(4, timeout=60)

    def meets() -> Iterator[Finding]:
        together.wait()
        yield ok("met")

    checks = tuple(DoctorQuestion(name=str(index), where=(), run=meets) for index in range(4))
    assert severities(run_checks(checks, limit_s=60, at_once=4)) == [("ok", "met")] * 4


def named(name: str, finding: Finding) -> Finding:
    (found,) = run_checks((check(name, finding),), limit_s=60)
    return found


@pytest.mark.parametrize(
    ("findings", "code"),
    [
        ((), Exit.OK),
        ((named("dns", ok("x")), named("state", unknown("x"))), Exit.OK),
        ((named("dns", unknown("x")), named("state", ok("x"))), Exit.UNREACHABLE),
        ((named("dns", unknown("x")), named("quotas", warning("x", do="y"))), Exit.OK),
        ((named("dns", unknown("x")), named("state", problem("x", do="y"))), Exit.FAILED),
        ((named("state", ok("x")),), Exit.OK),
    ],
)
def test_the_exit_code(findings: tuple[Finding, ...], code: Exit) -> None:
    assert exit_code(findings) is code


def sample() -> tuple[Finding, ...]:
    key = "pools.{} in stacks/Pulumi.prod.yaml"
    return run_checks(
        (
            check("state", ok("the state is kept in azblob://state", "PULUMI_BACKEND_URL")),
            check(
                "quotas",
                problem(
                    "AWS us-east-1, Running On-Demand P instances (L-417A185B): 0 vCPUs, 0 in use by others; the "
                    "environment takes 192 to 24,576",
                    key.format("h100"),
                    key.format("a100"),
                    do="aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B "
                    "--region us-east-1 --desired-value 24576",
                ),
            ),
            check("addresses", warning("the VPC vpc-1 has 10.1.0.0/16", "supernet in f", do="nothing")),
            check("images", *(unknown("not asked: x", f"sites.s{index} in f") for index in range(8))),
        ),
        limit_s=60,
    )


def test_the_text(golden: Golden) -> None:
    text = to_text("prod", sample()) + "\n"
    golden("report.txt", text)
    assert max(map(len, text.splitlines())) <= WIDTH


def test_json_has_every_place() -> None:
    found = json.loads(json.dumps(to_json("prod", sample())))
    assert found["environment"] == "prod"
    assert found["exit_code"] == 1
    assert found["counts"] == {"problem": 1, "warning": 1, "unknown": 1, "ok": 1}
    assert [finding["check"] for finding in found["findings"]] == ["quotas", "addresses", "images", "state"]
    assert len(found["findings"][2]["where"]) == 8
    assert all(
        finding["do"] for finding in found["findings"] if finding["level"] in (Severity.PROBLEM, Severity.WARNING)
    )
