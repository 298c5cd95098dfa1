"""Ages in words."""

from __future__ import annotations

import pytest

from longhaul.terminal.ages import age


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172799, "47 h"),
        (172800, "2 d"),
        (90 * 86400, "90 d"),
    ],
)
def test_an_age_is_one_number_of_a_unit_of_which_two_have_passed(seconds: float, words: str) -> None:
    assert age(seconds) == words
