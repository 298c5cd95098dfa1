"""A parsed command line, which every command receives."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One run of ``longhaul``: the command, its options, and the words for another program."""

    command: str
    options: argparse.Namespace
    rest: tuple[str, ...]
    """Words after ``--``."""
    argv: tuple[str, ...]
    """Every word, for running the same command elsewhere."""
