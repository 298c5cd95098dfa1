"""Deprecated APIs that clients use, as API servers count them, and the versions of Kubernetes that take them away."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from longhaul.cluster import kubeconfig_file
from longhaul.context import Context
from longhaul.exits import CommandError
from longhaul.kubernetes.api import Api
from longhaul.kubernetes.connection import TIMEOUT_S, ApiError

if TYPE_CHECKING:
    from components.model import Environment

_SERIES = re.compile(r"apiserver_requested_deprecated_apis\{(?P<labels>[^}]*)\} (?P<value>\S+)")
"""A line of the metric, which is 1 for each API that was asked for since the server started (k8s.io/apiserver,
pkg/endpoints/metrics; kubernetes.io, "Deprecated API Migration Guide")."""
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_ASKED = 2
"""Questions for each API server. The load balancer chooses who answers, and each server knows its own clients only."""


@dataclass(frozen=True, order=True, kw_only=True)
class DeprecatedApi:
    """An API in use that a later version does not have."""

    name: str
    """Resource with its group and version, as in ``flowschemas.flowcontrol.apiserver.k8s.io/v1beta3``."""
    removed: tuple[int, int] | None
    """Minor version that does not have it; None when that is not decided."""


@dataclass(frozen=True, kw_only=True)
class Apis:
    """Answer of the API servers."""

    used: tuple[DeprecatedApi, ...] = ()
    unseen: str = ""
    """Reason for which nobody was asked; empty when the servers answered."""


Ask = Callable[[], Apis]
"""Asks the API servers, once however often it is called."""


def nobody() -> Apis:
    """Return the answer where there is no cluster to ask."""
    return Apis(unseen="no cluster was asked")


def asking(where: Context, environment: Environment, environ: Mapping[str, str]) -> Ask:
    """Return a function that asks the environment's API servers."""

    @cache
    def ask() -> Apis:
        try:
            with kubeconfig_file(where, environment, environ) as path:
                api = Api.of(json.loads(path.read_text(encoding="utf-8")))
                times = _ASKED * environment.control_plane.api.servers
                found = {one for _ in range(times) for one in used(_lines(api))}
        except (CommandError, ApiError, OSError, http.client.HTTPException) as error:
            return Apis(unseen=str(error))
        return Apis(used=tuple(sorted(found, key=lambda one: one.name)))

    return ask


def _lines(api: Api) -> Iterator[str]:
    return (line.decode() for line in api.lines("/metrics", {}, silence_s=TIMEOUT_S))


def used(lines: Iterable[str]) -> Iterator[DeprecatedApi]:
    """Yield the deprecated APIs in the lines of an API server's metrics."""
    for line in lines:
        match = _SERIES.match(line)
        if match is not None and float(match["value"]) > 0:
            labels = dict(_LABEL.findall(match["labels"]))
            resource = "/".join(filter(None, (labels.get("resource", ""), labels.get("subresource", ""))))
            group = f".{labels['group']}" if labels.get("group") else ""
            yield DeprecatedApi(
                name=f"{resource}{group}/{labels.get('version', '')}", removed=_minor(labels.get("removed_release", ""))
            )


def _minor(release: str) -> tuple[int, int] | None:
    """Return the two numbers of a release such as ``1.38``; None for an empty text."""
    match = re.fullmatch(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else None
