"""Deprecated APIs in use, as counted by API servers, and the versions of Kubernetes that remove them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

_SERIES = re.compile(r"apiserver_requested_deprecated_apis\{(?P<labels>[^}]*)\} (?P<value>\S+)")
"""Pattern of a line of the metric. The metric is 1 for each API that was requested since the server started
(k8s.io/apiserver, pkg/endpoints/metrics; kubernetes.io, "Deprecated API Migration Guide")."""
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, order=True, kw_only=True)
class DeprecatedApi:
    """An API in use that a later version removes."""

    name: str
    """Resource with its group and version, such as ``flowschemas.flowcontrol.apiserver.k8s.io/v1beta3``."""
    removed: tuple[int, int] | None
    """First minor version without it; None when that is not decided."""


@dataclass(frozen=True, kw_only=True)
class Apis:
    """Answer from the API servers."""

    used: tuple[DeprecatedApi, ...] = ()
    unseen: str = ""
    """Reason why no server was asked; empty when the servers answered."""


Ask = Callable[[], Apis]
"""Asks the API servers; later calls return the first answer."""


def no_cluster() -> Apis:
    """Return the answer for the case that there is no cluster to ask."""
    return Apis(unseen="no cluster was asked")


def used_apis(lines: Iterable[str]) -> Iterator[DeprecatedApi]:
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
    """Return major and minor number of a release such as ``1.38``; None for an empty text."""
    match = re.fullmatch(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else None
