"""A parsed command line, as every command receives it."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One run of ``longhaul``: the command, its options, and the words to hand on."""

    command: str
    options: argparse.Namespace
    rest: tuple[str, ...]
    """Words after ``--``."""
    argv: tuple[str, ...]
    """Every word, to run the same command elsewhere."""
