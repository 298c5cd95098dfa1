"""Record of rotations with overlap, as the vault keeps it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from components.model.secrets.encryption_keys import RotationPhase
from components.model.secrets.rotations import STEADY, RotationProgress, parse_progress, progress_text, rotation_of


def test_what_is_over_is_not_in_it() -> None:
    until = datetime(2026, 11, 1, 2, 3, 4, tzinfo=UTC)
    waiting = RotationProgress(phase=RotationPhase.USE, until=until)
    text = progress_text({"service-accounts": waiting, "authority-nodes": STEADY})
    assert parse_progress(text) == {"service-accounts": waiting}
    assert progress_text({}) == "{}"


def test_an_authority_is_known_by_its_secret() -> None:
    assert rotation_of("ca-front-proxy") == "authority-front-proxy"


@pytest.mark.parametrize("text", ["", "7", "[]", '{"a": 1}', '{"a": {"phase": "other"}}', '{"a": {"until": "x"}}'])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it does not list phases of rotations"):
        parse_progress(text)
