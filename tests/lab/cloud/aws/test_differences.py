"""Every correction names a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.cloud.aws.differences import CORRECTIONS


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda one: one.test)
def test_a_test_holds_each(correction: object) -> None:
    file, _, name = str(getattr(correction, "test", "")).partition("::")
    assert re.search(rf"^def {name}\(", (Path(__file__).parent / file).read_text(), re.MULTILINE)
