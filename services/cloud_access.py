"""Access of a service to the clouds of an environment."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from clouds.base.machine_access import OwnAccess, socket_token
from clouds.registry import clouds
from contract.azure import TOKENS_VARIABLE


class RegionalSite(Protocol):
    """A site, as far as access to its cloud depends on it."""

    @property
    def kind(self) -> str:
        """Name of its cloud."""

    @property
    def region(self) -> str:
        """Region in its cloud; empty where there are none."""


def sign_in(sites: Iterable[RegionalSite], *, machine: str, role: str, stop: threading.Event) -> None:
    """Sign in to the clouds of these sites until ``stop``. The identity's tokens come from the socket that the unit's
    environment names; ``role`` is the AWS role that the identity assumes."""
    regions: dict[str, list[str]] = {}
    for site in sites:
        regions.setdefault(site.kind, []).append(site.region)
    tokens = os.environ.get(TOKENS_VARIABLE, "")
    for kind, places in regions.items():
        clouds()[kind].use_access(
            OwnAccess(
                machine=machine,
                role=role,
                regions=tuple(places),
                folder=Path(os.environ.get("RUNTIME_DIRECTORY", ".")),
                token=lambda: socket_token(tokens),
                stop=stop,
            )
        )
