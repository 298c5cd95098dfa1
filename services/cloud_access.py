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
    """Properties of a site on which access to its cloud depends."""

    @property
    def kind(self) -> str:
        """Name of the site's cloud."""

    @property
    def region(self) -> str:
        """Region in the cloud; empty if the cloud has no regions."""


def sign_in(sites: Iterable[RegionalSite], *, machine: str, role: str, stop: threading.Event) -> None:
    """Sign in to the clouds of the sites until ``stop`` is set. The identity's tokens come from the socket in the
    unit's environment (:data:`TOKENS_VARIABLE`). ``role`` is the AWS role that the identity assumes."""
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
