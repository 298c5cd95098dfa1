"""Phases of a rotation, as the order of the keys says them."""

from __future__ import annotations

import json

import pytest

from components.model.secrets.encryption_keys import EncryptionKeys, Key, RotationPhase


def test_a_rotation_goes_through_its_phases() -> None:
    keys = EncryptionKeys.first("one")
    assert (keys.phase, keys.names) == (RotationPhase.STEADY, ("key1",))
    keys = keys.trusting("two")
    assert (keys.phase, keys.names) == (RotationPhase.TRUST, ("key1", "key2"))
    keys = keys.using()
    assert (keys.phase, keys.names) == (RotationPhase.USE, ("key2", "key1"))
    assert EncryptionKeys.parse(keys.text()) == keys


def test_a_name_is_never_used_again() -> None:
    """Each stored object bears the name of its key."""
    retired = (Key(name="key7", secret="seven"),)
    assert EncryptionKeys.first("one").trusting("new", retired=retired).names == ("key1", "key8")


def test_a_former_key_that_comes_back_only_reads() -> None:
    keys = EncryptionKeys(keys=(Key(name="key2", secret="two"),)).readmitting(Key(name="key1", secret="one"))
    assert (keys.phase, keys.names) == (RotationPhase.USE, ("key2", "key1"))


def test_keys_do_not_show_themselves() -> None:
    assert "hunter2" not in repr(EncryptionKeys.first("hunter2"))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "7", "null", '["key1"]', '[{"name": "key1"}]', '[{"name": "other", "secret": "a"}]',
     json.dumps([{"name": "key1", "secret": "a"}, {"name": "key1", "secret": "b"}])],
)  # fmt: skip
def test_what_is_no_list_of_keys_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"it is not a list|its keys are not named"):
        EncryptionKeys.parse(text)
