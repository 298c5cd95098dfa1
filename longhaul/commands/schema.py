"""``longhaul schema``: print the JSON Schema of the stack file, for editors."""

from __future__ import annotations

import argparse

from longhaul.exits import Exit
from longhaul.invocation import Invocation
from longhaul.report.programs import document

HELP = "print the JSON Schema of an environment file, for editors"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: ``schema`` has no options of its own."""


def run(_invocation: Invocation) -> int:
    """Print the schema of a whole stack file."""
    from components.model.schema import stack_schema

    print(document(stack_schema()))
    return Exit.OK
