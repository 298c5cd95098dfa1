"""``longhaul schema``: the stack file's JSON Schema, for editors."""

from __future__ import annotations

import argparse
import json

from longhaul.exits import Exit
from longhaul.invocation import Invocation

HELP = "print the JSON Schema of an environment file, for editors"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``schema`` has no options of its own."""


def run(_invocation: Invocation) -> int:
    """Print the schema of a whole stack file."""
    from components.model.schema import stack_schema

    print(json.dumps(stack_schema(), indent=2))
    return Exit.OK
