"""YAML files as plain data: the values and their lines, and what is refused."""

from __future__ import annotations

import copy
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.model.loading.document import MOST_REPEATED, document_text, parse_document, read_document
from components.model.loading.document_error import DocumentError
from components.model.loading.errors import ConfigurationError

KEYS = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="-_. :#'\""), min_size=1)
TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"], include_characters="\n"))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
DATA = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(KEYS, inside, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, DATA, max_size=5), st.booleans())
def test_whatever_is_written_as_yaml_is_read_back(data: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    assert parse_document(text).data == data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("12:30:00", "12:30:00"),
        ("1_000", "1_000"),
        ("0x1F", 31),
        ("0o17", 15),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("True", True),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("10.64.0.0/12", "10.64.0.0/12"),
        ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000001"),
    ],
)
def test_a_plain_value_is_what_yaml_1_2_says(text: str, value: object) -> None:
    found = parse_document(f"key: {text}").data["key"]
    assert (json.dumps(found), found) == (json.dumps(value), value), "of one type"


def test_anchors_and_merged_keys() -> None:
    text = "a: &a {x: 1, y: 2}\nb: *a\nc:\n  <<: *a\n  y: 3\nd:\n  <<: [{x: 9}, *a]\n"
    text += "e: {<<: *a, <<: {x: 5, z: 6}}\n"
    assert parse_document(text).data == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1, "y": 3},
        "d": {"x": 9, "y": 2},
        "e": {"x": 1, "y": 2, "z": 6},
    }


def test_each_value_knows_its_line() -> None:
    document = parse_document("a: 1\nb:\n  - x: 1\n  - x: 2\n    y: {z:\n      3}\n")
    assert document.line(("a",)) == 1
    assert document.line(("b", 1)) == 4
    assert document.line(("b", 1, "y", "z")) == 5


def test_what_is_not_there_is_on_the_line_of_what_would_hold_it() -> None:
    document = parse_document("a: 1\nb:\n  c: 2\n")
    assert document.line(("b", "missing", "deeper")) == 2
    assert document.line(("missing",)) is None


LETTERS = "abcdefghi"
BOMB = "a: &a [1]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{inner}'] * 10)}]\n" for inner, name in pairwise(LETTERS)
)
"""Nine lines that stand for a hundred million values."""
BOMB_OF_MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{{', '.join(f'{index}: {{<<: *{inner}}}' for index in range(10))}}}\n"
    for inner, name in pairwise(LETTERS)
)


@pytest.mark.parametrize(
    ("text", "line", "wrong"),
    [
        ("a: [1\nb: 2", 2, "is not YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "'a' twice, first on line 1"),
        ("a:\n  - {b: 1, b: 2}\n", 2, "'b' twice"),
        ("- 1\n", None, "is not a mapping"),
        ("", None, "is not a mapping"),
        ("a: 1\n---\nb: 2\n", 2, "more than one document"),
        ("a: *b\n", 1, "*b has no anchor"),
        ("a: &a [*a]\n", 1, "*a has no anchor"),
        ("? [x]\n: 1\n", 1, "key that is not text"),
        ("a: !!int 3\n", 1, "tag"),
        ("a: {<<: 3}\n", 1, "not a mapping"),
        ("\ta: 1", 1, "is not YAML"),
        ("a: b: c", 1, "is not YAML"),
        ("a:\n " + "[" * 100, 2, "more than 64 lists and mappings"),
        ("a:\n " + "{b: " * 20_000, 2, "more than 64 lists and mappings"),
        ("a: 1\nb: " + "9" * 5_000, 2, "a number of 5,000 characters, 99999999…"),
        (f"a: -0.{'1' * 70}", 1, "a number of 73 characters"),
        (f"a: 0x{'f' * 70}", 1, "a number of 72 characters"),
        (BOMB, 6, "more than 100,000 values by aliases, here by *e"),
        (BOMB_OF_MERGES, 6, "more than 100,000 values by aliases"),
    ],
    ids=range(20),
)
def test_what_cannot_be_read(text: str, line: int | None, wrong: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(text)
    assert caught.value.line == line
    assert wrong in caught.value.wrong
    assert caught.value.write


@pytest.mark.parametrize("text", ["012", "00", "1.10", "0x1F", "0o17", "+3", "1e3", ".5", "1.", "7", "-3", "0.5"])
def test_a_number_is_shown_as_it_was_written(text: str) -> None:
    found = parse_document(f"key: {text}").data["key"]
    assert repr(found) == f"{found}" == repr(copy.deepcopy(found)) == text


@pytest.mark.parametrize(
    "text",
    ["012", "08", "0x1F", "0o17", "+3", "1e3", "1.10", "7", "0.5", "no", '"1.10"', '"1e3"', '"0o17"', "~"],
)
def test_what_is_written_back_reads_the_same(text: str) -> None:
    data = parse_document(f"key: [{text}]").data
    assert repr(parse_document(document_text(data)).data["key"]) == repr(data["key"])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: b: c", ", at column 5"),
        ("a: [1\nb: 2", ", at column 2, in what began on line 1"),
        ('a: "x\n\n\n', ", at column 1, in what began on line 1"),
    ],
)
def test_where_the_parser_gave_up_is_said(text: str, place: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_document(text)
    assert caught.value.wrong.endswith(place)


def test_aliases_of_an_ordinary_file_are_no_fault() -> None:
    text = "a: &a {x: 1, y: [1, 2]}\nb: [" + ", ".join(["*a"] * (MOST_REPEATED // 5)) + "]\n"
    assert len(parse_document(text).data["b"]) == MOST_REPEATED // 5


@pytest.mark.parametrize(
    ("name", "line", "wrong"),
    [
        ("none.yaml", None, "does not exist"),
        ("dead.yaml", None, "is a link to none.yaml, which does not exist"),
        ("loop.yaml", None, "cannot be read: Too many levels of symbolic links"),
        ("pipe.yaml", None, "is a pipe, a socket or a device, not a file"),
        ("latin.yaml", 2, "is not text in UTF-8"),
        ("large.yaml", None, "is larger than 16 MiB"),
        (".", None, "is a directory"),
        ("a\0b", None, "is not the name of a file"),
        ("n" * 300, None, "cannot be read: File name too long"),
    ],
    ids=["none", "dead", "loop", "pipe", "latin", "large", "directory", "nul", "long"],
)
def test_files_that_cannot_be_read(name: str, line: int | None, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    (tmp_path / "dead.yaml").symlink_to("none.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    with pytest.raises(ConfigurationError) as caught:
        read_document(tmp_path / name)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(tmp_path / name).replace("\0", "?"), line)
    assert wrong in problem.wrong
