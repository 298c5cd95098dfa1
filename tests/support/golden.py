"""Golden files: texts as they were, beside the tests that compare them."""

from __future__ import annotations

from collections.abc import Callable

Golden = Callable[[str, str], None]
"""Function that compares the file of a name in the folder ``golden`` beside the test with a text."""
