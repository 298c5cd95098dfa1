"""The key that signs for depots: what is one, and what a file says without it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.model import ConfigurationError, load
from components.model.cautions import cautions
from components.model.depots import key_fault
from lab.signing import KEY
from tests.model import files, make


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_public_keys_are_keys_alone_or_together() -> None:
    whole = base64.b64decode(KEY)
    assert key_fault(KEY) == key_fault(text(whole + whole)) == key_fault(make.DEPOTS_KEY) == ""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bytes([0x94, 40]) + bytes(40), "holds a private key"),
        (bytes([0x9C, 40]) + bytes(40), "holds a private key"),
        (bytes([0xC5, 40]) + bytes(40), "holds a private key"),
        (base64.b64decode(KEY) + bytes([0xC7, 192, 0]) + bytes(192), "holds a private key"),
        (base64.b64decode(KEY)[:-1], "is no OpenPGP key"),
        (bytes([0xC6, 255, 255, 255, 255, 255]) + bytes(40), "is no OpenPGP key"),
        (bytes([0x88, 40]) + bytes(40), "is no OpenPGP public key"),
        (base64.b64decode(KEY) + bytes([0xCB, 1, 0]), "is no OpenPGP public key"),
        (b"\0" * 40, "is no OpenPGP key"),
    ],
)
def test_nothing_else_is(content: bytes, says: str, tmp_path: Path) -> None:
    assert key_fault(text(content)).startswith(says)
    raw = make.minimal()
    raw["depots"] = {"key": text(content)}
    with pytest.raises(ConfigurationError) as caught:
        load(files.write(tmp_path, raw))
    (problem,) = caught.value.problems
    assert (problem.key, problem.wrong.startswith(says)) == ("depots.key", True)
    assert text(content) not in str(caught.value)


@given(st.binary(max_size=300))
def test_any_bytes_are_read(content: bytes) -> None:
    key_fault(text(content))


def test_a_depot_that_nobody_signs_for_is_said(tmp_path: Path) -> None:
    raw = make.full()
    signed = {one.name for one in cautions(load(files.write(tmp_path, raw, hosts=make.hosts())))}
    del raw["depots"]
    environment = load(files.write(tmp_path, raw, hosts=make.hosts()))
    unsigned = [one for one in cautions(environment) if one.name == "unsigned-depot"]
    assert "unsigned-depot" not in signed
    assert [one.site for one in unsigned] == ["weu", "use1", "colo"]
    assert all(one.refused for one in unsigned)
