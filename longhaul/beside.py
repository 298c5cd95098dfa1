"""Preparation of the racks while the clouds make an environment's infrastructure for the first time: the part of the
racks' work that does not depend on the infrastructure."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from longhaul.context import Context
from longhaul.engine.run import start
from longhaul.phases import Phase
from longhaul.say import say

NICE = 10
"""Niceness of the preparation: the infrastructure is on the critical path and comes first."""


@contextmanager
def preparing(where: Context) -> Iterator[Callable[[], None]]:
    """Prepare the racks' hosts during the block and wait for that at its end. The block is given a function that ends
    the preparation early. The result is shown but changes nothing: the racks' own phase does what is left."""
    words = ["up", "--env", where.env, "--project", str(where.project.root), "--yes", "--only", Phase.PREPARATION]
    say(f"{Phase.PREPARATION}: begins, beside the infrastructure")
    with tempfile.TemporaryFile() as output:
        child = start(
            [sys.executable, "-m", "longhaul", *words],
            cwd=where.project.root,
            nice=NICE,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            yield child.terminate
            code = child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
            _show(output)
    said = "done" if code == 0 else "failed on some hosts, as the output above says; the phase hosts does the rest"
    say(f"{Phase.PREPARATION}: {said}")


def _show(output: IO[bytes]) -> None:
    output.seek(0)
    for line in output:
        sys.stderr.write(f"{Phase.PREPARATION} | {line.decode(errors='replace')}")
    sys.stderr.flush()
