"""Route from this machine to a cluster's API, which has a private address."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from contract.kubernetes.connection import ApiError
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

WAIT_S = 30.0
"""Seconds for which the API is tried before a person is asked: a new load balancer needs some of them."""
PERSON_S = 300.0
"""Further seconds for a person to connect to the VPN."""
PAUSE_S = 2.0
"""Seconds between two tries."""


def require_api(environment: Environment, kubeconfig: Path, *, say: Callable[[str], None]) -> None:
    """Return once an API server answers. If none does, ask the person, with ``say``, to connect to the VPN, and wait.
    Raise ``CommandError`` when nobody connects. Without a VPN, return at once: there is no advice to give, and the
    engine itself reports an unreachable API."""
    from contract.kubernetes.api import Api

    if environment.vpn is None:
        return
    api = Api.of(json.loads(kubeconfig.read_text(encoding="utf-8")))
    run = f"run `longhaul vpn --env {environment.name}` in another terminal and leave it open"
    began, announced = time.monotonic(), False
    while True:
        try:
            api.get("/version")
        except ApiError as error:
            # A refusal is an answer.
            if error.status:
                return
            waited = time.monotonic() - began
            if waited >= WAIT_S + PERSON_S:
                raise CommandError(
                    f"the API cannot be reached from here ({error}): {run}, then run this again", code=Exit.UNREACHABLE
                ) from None
            if waited >= WAIT_S and not announced:
                say(f"the API cannot be reached from here: {run}. This waits for it, {PERSON_S:.0f} s at most")
                announced = True
            time.sleep(PAUSE_S)
            continue
        return
