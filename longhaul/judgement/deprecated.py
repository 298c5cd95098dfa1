"""Deprecated APIs that clients use, as API servers count them, and the versions of Kubernetes that take them away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_SERIES = re.compile(r"apiserver_requested_deprecated_apis\{(?P<labels>[^}]*)\} (?P<value>\S+)")
"""A line of the metric, which is 1 for each API that was asked for since the server started (k8s.io/apiserver,
pkg/endpoints/metrics; kubernetes.io, "Deprecated API Migration Guide")."""
_LABEL = re.compile(r'(\w+)="([^"]*)"')


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
