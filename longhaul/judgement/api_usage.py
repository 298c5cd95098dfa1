"""Asks an environment's API servers which deprecated APIs are in use."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from contract.kubernetes.api import Api
from contract.kubernetes.connection import TIMEOUT_S, ApiError
from longhaul.cluster.api_access import kubeconfig_file
from longhaul.judgement.deprecated_apis import Apis, Ask, used_apis
from longhaul.project.context import Context
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from components.model import Environment

_ASKED = 2
"""Number of questions for each API server. The load balancer chooses the server, and each server knows only its own
clients."""


def api_usage_reader(
    where: Context, environment: Environment, environ: Mapping[str, str], *, master: bool = False
) -> Ask:
    """Return a function that asks the environment's API servers. For ``master`` see
    :func:`longhaul.cluster.identity.fetch_identity`."""

    @cache
    def ask() -> Apis:
        try:
            with kubeconfig_file(where, environment, environ, master=master) as path:
                api = Api.of(json.loads(path.read_text(encoding="utf-8")))
                times = _ASKED * environment.control_plane.api.servers
                apis = {deprecated for _ in range(times) for deprecated in used_apis(_lines(api))}
        except (CommandError, ApiError, OSError, http.client.HTTPException) as error:
            return Apis(unseen=str(error))
        return Apis(used=tuple(sorted(apis, key=lambda deprecated: deprecated.name)))

    return ask


def _lines(api: Api) -> Iterator[str]:
    return (line.decode() for line in api.lines("/metrics", {}, silence_s=TIMEOUT_S))
