"""Way from this machine to a cluster's API, which has a private address."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.exits import CommandError, Exit
from longhaul.kubernetes.connection import ApiError

if TYPE_CHECKING:
    from components.model import Environment

WAIT_S = 30.0
"""Seconds for which the API is tried: a load balancer that was made just now takes some."""
PAUSE_S = 2.0
"""Seconds between two tries."""


def require_api(environment: Environment, kubeconfig: Path) -> None:
    """Raise ``CommandError`` when no API server answers and a VPN would lead there. Without a VPN nothing is asked:
    the engine finds out by itself, and there is nothing to advise."""
    from longhaul.kubernetes.api import Api

    if environment.vpn is None:
        return
    api = Api.of(json.loads(kubeconfig.read_text(encoding="utf-8")))
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            api.get("/version")
        except ApiError as error:
            # A refusal is an answer.
            if error.status:
                return
            if time.monotonic() < deadline:
                time.sleep(PAUSE_S)
                continue
            raise CommandError(
                f"the API cannot be reached from here ({error}): run `longhaul vpn --env {environment.name}` in "
                "another terminal and leave it open, then run this again",
                code=Exit.UNREACHABLE,
            ) from None
        return
