"""Secrets and unknowns inside property values."""

from __future__ import annotations

from typing import Any

import pytest

from lab.providers.values import (
    SIGNATURE,
    UNKNOWN,
    from_struct,
    holds_secret,
    keep_secrets,
    plain,
    preview_outputs,
    secret,
    to_struct,
)


def test_whole_numbers_stay_whole() -> None:
    values = {"port": 6443, "share": 0.5, "on": True, "list": [1, {"a": 2}]}
    found = from_struct(to_struct(values))
    assert found == values
    assert isinstance(found["port"], int)


def test_plain_has_no_markers() -> None:
    assert plain({"a": secret({"b": secret("c")}), "n": None, "l": [secret(1)]}) == {"a": {"b": "c"}, "l": [1]}


def test_outputs_of_secret_inputs_are_secret() -> None:
    outputs = keep_secrets(
        {"osProfile": {"name": "x"}, "zones": ["1"]}, {"osProfile": {"customData": secret("s")}, "zones": ["1"]}
    )
    assert outputs["osProfile"][SIGNATURE]
    assert outputs["zones"] == ["1"]
    assert holds_secret(outputs)


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("text", True),
        (6443, True),
        (["a", "b"], True),
        ({"owner": "me"}, True),
        (secret("s"), True),
        (UNKNOWN, True),
        ({"name": "Standard"}, False),
        ({"properties": {"a": 1}}, False),
        ([{"name": "front"}], False),
    ],
)
def test_a_preview_knows_what_the_cloud_answers_unchanged(value: Any, known: bool) -> None:
    assert preview_outputs({"x": value, "__own": 1}) == {"x": value if known else UNKNOWN}
