"""Keys of service accounts' tokens, as one file for two programs."""

from __future__ import annotations

import json

import pytest

from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys


def test_a_rotation_goes_through_its_phases() -> None:
    first, second = issuing.new_key(), issuing.new_key()
    publics = tuple(map(issuing.public_key, (first, second)))
    keys = SigningKeys.alone(first)
    assert keys.verifies == publics[:1]
    trusting = keys.trusting(second)
    assert (trusting.signs, trusting.verifies) == (first, publics)
    assert trusting.trusting(second) == trusting
    using = trusting.using(second)
    assert (using.signs, using.verifies) == (second, publics[::-1])
    assert using.using(second) == using
    assert first not in using.file, "the former private key goes"
    assert SigningKeys.alone(using.signs).verifies == publics[1:]


def test_the_vault_keeps_it_as_one_file() -> None:
    keys = SigningKeys.alone(issuing.new_key()).trusting(issuing.new_key())
    assert SigningKeys.parse(keys.text()) == keys
    assert json.loads(keys.text())["file"] == keys.file


def test_keys_do_not_show_themselves() -> None:
    key = issuing.new_key()
    assert key not in repr(SigningKeys.alone(key))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"file": 7}', '{"file": ""}'])
def test_what_is_no_file_of_keys_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"it is not a file of keys|it does not begin with one signing key"):
        SigningKeys.parse(text)


def test_a_file_whose_first_public_key_is_of_another_is_refused() -> None:
    keys = SigningKeys.alone(issuing.new_key()).trusting(issuing.new_key())
    wrong = SigningKeys(signs=keys.signs, verifies=keys.verifies[::-1])
    with pytest.raises(ValueError, match="it does not begin with one signing key"):
        SigningKeys.parse(wrong.text())
