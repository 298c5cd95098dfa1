"""Migration of older formats to the newest, tested with invented steps."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from components.model import ConfigurationError
from components.model.environment import FORMAT, Environment
from components.model.loading.migrate import FormatError, Raw, migrate, steps
from tests.model import make


def two(raw: Raw) -> Raw:
    """Format 2 renames the range."""
    return {**{key: value for key, value in raw.items() if key != "range"}, "supernet": raw["range"]}


def three(raw: Raw) -> Raw:
    """Format 3 puts sites into a mapping of their own."""
    return {**raw, "sites": {raw["site"]: {}}}


STEPS = {1: two, 2: three}


def test_steps_are_taken_in_order_up_to_the_newest() -> None:
    old = {"format": 1, "range": "10.0.0.0/8", "site": "weu"}
    assert migrate(old, steps=STEPS, current=3) == {
        "format": 3,
        "supernet": "10.0.0.0/8",
        "site": "weu",
        "sites": {"weu": {}},
    }
    assert old == {"format": 1, "range": "10.0.0.0/8", "site": "weu"}


def test_a_newer_file_skips_the_steps_it_has_behind_it() -> None:
    assert migrate({"format": 2, "site": "weu"}, steps=STEPS, current=3)["sites"] == {"weu": {}}
    assert migrate({"format": 3}, steps=STEPS, current=3) == {"format": 3}


def test_what_a_step_makes_is_read_like_any_other_file() -> None:
    old: dict[str, Any] = make.minimal()
    old["range"] = old.pop("supernet")
    new = migrate(old, steps=STEPS, current=2)
    assert new.pop("format") == 2
    assert make.environment({"format": FORMAT, **new}) == make.environment()


@pytest.mark.parametrize("version", [0, -1, 4, 99, "1", 1.0, True, None, [1]])
def test_a_format_that_no_step_leads_from_is_refused(version: object) -> None:
    with pytest.raises(FormatError) as caught:
        migrate({"format": version}, steps=STEPS, current=3)
    assert caught.value.finding.at == ("format",)
    assert "1 to 3" in caught.value.finding.wrong
    assert caught.value.finding.write.startswith("3")


def test_a_file_from_a_newer_release_says_which_release_it_needs() -> None:
    with pytest.raises(FormatError, match="4 is newer than this release") as caught:
        migrate({"format": 4}, steps=STEPS, current=3)
    assert "the release that the file was written for" in caught.value.finding.write


def test_a_file_without_a_format_is_told_with_everything_else() -> None:
    raw = make.minimal()
    del raw["format"]
    with pytest.raises(ConfigurationError) as caught:
        make.environment({**raw, "domain": "x"})
    assert {problem.key: problem.write for problem in caught.value.problems} == {
        "format": f"format: {FORMAT}",
        "domain": "for example lab.longhaul.internal",
    }


def test_a_step_leads_from_every_older_format() -> None:
    assert sorted(steps()) == list(range(1, FORMAT))


def test_the_newest_format_is_the_one_the_model_takes() -> None:
    assert get_args(Environment.model_fields["format"].annotation) == (FORMAT,)
