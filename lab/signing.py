"""The builder's key of the lab's depots. The key is in the checkout, because it protects nothing outside a lab."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from longhaul.artifacts.signature import sign
from longhaul.toolchain.process import output_of

KEY = (
    "mDMEZZIAgBYJKwYBBAHaRw8BAQdAanbVxeNsK4742hHLMBphyfviDmF05ZXVdpGlDIfcSJe0EWRlcG90cyBvZiB0aGUgbGFiiJAE"
    "ExYIADgWIQQClmtE5FyL9rvGGW1+nLAyHoKSgwUCZZIAgAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRB+nLAyHoKSg4NV"
    "AQCCPRuuYU94DuTUEJwiqm8Npv0JHsfkvMdLknqM87JSDwEA90jWipgbuY43qEjfQfA39krxPiM9j5PIJqmwMztH5AE="
)
"""Public half, as environments in the lab have it (``depots.key``)."""

_PRIVATE = Path(__file__).with_name("depot-signing-key.asc")
_NAME = "depots of the lab"


@contextmanager
def signing() -> Iterator[Callable[[Path], None]]:
    """Yield a function that signs a file. gpg has the key in a separate folder, which is removed after the block."""
    with tempfile.TemporaryDirectory(prefix="longhaul-gpg-") as home:
        output_of(["gpg", "--homedir", home, "--batch", "--quiet", "--import", str(_PRIVATE)])
        try:
            yield partial(sign, key=_NAME, home=Path(home))
        finally:
            output_of(["gpgconf", "--homedir", home, "--kill", "gpg-agent"])
