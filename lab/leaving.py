"""Taking an environment out of the lab of another, which goes on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lab import control
from lab.guests import host_of
from lab.state import LabError, LabState, running_init

_TOLD = 25
"""Lines of a failed destruction that are shown; its log has all."""


def leave(state: LabState, *, say: Callable[[str], None]) -> None:
    """Destroy what the environment has in the clouds of the lab that it is in, and have its operator's place taken
    away. Nothing to do for an environment with a lab of its own; one whose lab has ended lost its clouds with it.

    Raises :class:`LabError` when the destruction fails: whatever it left would stay in the other's lab.
    """
    host = host_of(state)
    if host == state:
        return
    if running_init(state) is not None and state.enter.exists():
        say(f"destroying {state.env} in the lab {host.env}")
        _destroy(state, host)
    # First its record: without its configuration the process that it names would be taken for its own, and ended.
    state.init_file.unlink(missing_ok=True)
    state.config_file.unlink(missing_ok=True)
    if running_init(host) is not None:
        control.request(host, "POST", "/refresh")


def _destroy(state: LabState, host: LabState) -> None:
    longhaul = str(Path(sys.executable).with_name("longhaul"))
    words = [longhaul, "destroy", "--project", str(state.root.parent), "--env", state.env, "--yes"]
    log = state.logs / f"{state.env}-longhaul-destroy.log"
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
    if done.returncode != 0:
        tail = "\n  ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TOLD:])
        raise LabError(
            f"longhaul destroy ended with {done.returncode} (all of it: {log}), so {state.env} stays; try again, or "
            f"take the whole lab down: make lab-down ENV={host.env}\n  {tail}"
        )
