"""The comment's body for each kind of change. After an intended change: ``pytest tests/longhaul/review
--update-golden``."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from longhaul.report.markdown import LONGEST, cut
from longhaul.report.text import WIDTH
from longhaul.review.outcome import EnvironmentReview, Review, ReviewOutcome, in_order, merge
from longhaul.review.text import MARKERS, to_markdown, to_text
from longhaul.terminal.exits import Exit
from tests.longhaul.review.conftest import Checkout, Plans, plan
from tests.support.golden import Golden


def good(checkout: Checkout) -> Review:
    checkout.resize("dev", 5)
    checkout.commit()
    return checkout.review(Plans(answers={"dev": plan("safe")}))


def risky(checkout: Checkout) -> Review:
    checkout.write("tools.toml")
    checkout.commit()
    return checkout.review(Plans(answers={"dev": plan("care")}))


def refused(checkout: Checkout) -> Review:
    checkout.write("components/new.py")
    checkout.commit()
    return checkout.review(Plans(answers={"dev": plan("safe"), "two": plan("refused")}))


def code(checkout: Checkout) -> Review:
    checkout.write("stacks/components/__init__.py")
    for number in range(12):
        checkout.write(f"lab/`<b>@all{number}.py")
    (checkout.path / "stacks/Pulumi.two.yaml").unlink()
    checkout.commit()
    return checkout.proposed()


def fork(checkout: Checkout) -> Review:
    checkout.resize("dev", 5)
    checkout.commit()
    return checkout.review(None, fork=True)


def invalid(checkout: Checkout) -> Review:
    raw = checkout.read("two") | {"supernet": "10.64.0.0/99", "domain": "@everyone <b>"}
    raw["control_plane"]["etcd"]["members"] = 4
    checkout.change("two", raw)
    (checkout.path / "stacks/Pulumi.dev.yaml").unlink()
    checkout.commit()
    return checkout.review(Plans())


def unplanned(checkout: Checkout) -> Review:
    checkout.resize("two", 3)
    checkout.commit()
    return checkout.review(Plans(answers={"two": "error: the provider said\n```\nno"}))


def untouched(checkout: Checkout) -> Review:
    checkout.write("docs/read.md", "other\n")
    return checkout.review(Plans())


CASES: dict[Callable[[Checkout], Review], int] = {
    good: Exit.OK,
    risky: Exit.OK,
    refused: Exit.REFUSED,
    code: Exit.OK,
    fork: Exit.FAILED,
    invalid: Exit.REFUSED,
    unplanned: Exit.FAILED,
    untouched: Exit.OK,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_body(case: Callable[[Checkout], Review], checkout: Checkout, golden: Golden) -> None:
    review = case(checkout)
    assert review.exit_code == CASES[case]
    for ending, written in (("md", to_markdown(review)), ("txt", to_text(review))):
        golden(f"{case.__name__}.{ending}", re.sub(r"\b[0-9a-f]{12}\b", "0123456789ab", written))


def test_the_paths_of_this_machine_are_not_in_it(checkout: Checkout) -> None:
    assert str(checkout.path) not in to_markdown(invalid(checkout))


def test_verdicts_come_first_and_the_gravest_before_all(checkout: Checkout) -> None:
    body = to_markdown(refused(checkout))
    assert body.startswith(f"{MARKERS[False]}\n## Longhaul: refused\n")
    lines = [line for line in body.splitlines() if line.startswith("- ")]
    assert [line.split("`")[1] for line in lines[:2]] == ["two", "dev"]
    assert body.index(lines[1]) < body.index("<details>")


def many(number: int, plan_text: str) -> Review:
    entries = [
        EnvironmentReview(name=f"e-{index}", outcome=ReviewOutcome.CARE, reason="why", plan=plan_text)
        for index in range(number)
    ]
    return Review(base="main", commit="0" * 12, environments=in_order(entries))


def long_plan(parts: int) -> str:
    fold = "<details><summary>site</summary>\n\n```text\n+ machine\n\n~ network\n```\n\n</details>\n\n"
    return "## Plan\n\n" + fold * parts


@pytest.mark.parametrize(("environments", "parts"), [(1, 2000), (3, 500), (40, 100), (900, 3), (3000, 1)])
def test_it_is_never_too_long_and_always_whole(environments: int, parts: int) -> None:
    body = to_markdown(many(environments, long_plan(parts)))
    assert len(body) <= LONGEST
    assert body.count("<details>") == body.count("</details>")
    assert body.count("```") % 2 == 0
    assert body.endswith("says the same.</sub>\n")
    if environments <= 40:
        assert body.count("\n- ") == environments
        assert "left out" in body
    else:
        assert body.count("\n- ") == environments or re.search(r"\n- and [\d,]+ more", body)


def test_what_one_does_not_need_is_the_next_ones() -> None:
    entries = [
        EnvironmentReview(name="a", outcome=ReviewOutcome.REFUSED, reason="why", plan="short\n"),
        EnvironmentReview(name="b", outcome=ReviewOutcome.CARE, reason="why", plan=long_plan(2000)),
    ]
    body = to_markdown(Review(base="main", commit="0" * 12, environments=in_order(entries)))
    assert LONGEST - 1000 < len(body) <= LONGEST


def test_a_report_that_is_too_long_keeps_its_end() -> None:
    entry = EnvironmentReview(
        name="a", outcome=ReviewOutcome.FAILED, reason="why", report="x" * LONGEST + "\nthe error"
    )
    body = to_markdown(Review(base="main", commit="0" * 12, environments=(entry,)))
    assert len(body) <= LONGEST
    assert "\nthe error\n```\n" in body


def test_cutting_keeps_blocks_whole() -> None:
    text = long_plan(50)
    for room in range(200, len(text), 97):
        shown = cut(text, room)
        assert len(shown) <= room
        assert shown.count("<details>") == shown.count("</details>")
    assert cut(text, len(text)) == text


@pytest.mark.parametrize("name", ["`x` @all", "<img src=x>", "a\nb"])
def test_a_name_from_a_file_is_text(name: str) -> None:
    body = to_markdown(
        Review(
            base="main",
            commit="0" * 12,
            environments=(EnvironmentReview(name=name, outcome=ReviewOutcome.SAFE, reason=""),),
        )
    )
    line = next(line for line in body.splitlines() if line.startswith("- "))
    assert line.count("`") == 2
    assert not {"@", "<", "\n"} & set(line)


def test_text_is_no_wider_than_a_terminal(checkout: Checkout) -> None:
    assert max(len(line) for line in to_text(refused(checkout)).splitlines()) <= WIDTH


def test_reviews_of_several_jobs_are_one(checkout: Checkout) -> None:
    checkout.write("tools.toml")
    validated = checkout.review(None)
    assert validated.plannable == ["dev", "two"]
    planned = checkout.review(Plans(answers={"two": plan("care")}), only="two")
    whole = merge([validated, planned])
    assert {entry.name: entry.outcome for entry in whole.environments} == {
        "dev": ReviewOutcome.FAILED,
        "two": ReviewOutcome.CARE,
    }
    assert whole.exit_code == Exit.FAILED
    assert "never arrived" in whole.environments[0].reason


def test_a_forks_are_not_missing(checkout: Checkout) -> None:
    whole = merge([fork(checkout)])
    assert [entry.outcome for entry in whole.environments] == [ReviewOutcome.VALID]
    # It is not merged from there either: what no plan was made for passes no required check.
    assert whole.exit_code == Exit.FAILED
