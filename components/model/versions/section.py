"""Section ``versions``: versions of the software on machines. The defaults are written once, in ``tools.toml`` at the
top of the project."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from clouds.base.phrases import word_list
from clouds.base.replaces import Replaces
from clouds.base.section import Section

PINNED = Path(__file__).with_name("tools.toml")
"""``tools.toml``: in a checkout a link to the file at the top, in a wheel a copy of it."""

_EXTRA: dict[str, Any] = {
    "default_in_words": "the one `tools.toml` pins",
    "patternErrorMessage": "three numbers without a leading v",
}


@cache
def _tools() -> dict[str, Any]:
    with PINNED.open("rb") as file:
        return tomllib.load(file)


def pinned(release: str) -> str:
    """Return the default version of ``release`` in ``tools.toml``; raise ``KeyError`` when it lists no such
    release."""
    return str(_tools()["release"][release]["version"])


def offered_versions(release: str) -> tuple[str, ...]:
    """Return all versions of ``release`` that ``tools.toml`` pins, the default first."""
    return (pinned(release), *map(str, _tools()["release"][release].get("also", ())))


def companion_versions(kubernetes: str) -> Mapping[str, str]:
    """Return the versions that go with this version of Kubernetes, by release; empty for a version that ``tools.toml``
    does not pin."""
    return dict(_tools()["belongs"].get(kubernetes, {}))


def nearest_offered(release: str, version: str) -> str:
    """Return advice on what to write instead of ``version``: the newest pinned version that it may mean, and all pinned
    versions."""
    offered = offered_versions(release)
    minor = re.search(r"\d+\.\d+", version)
    alike = [other for other in offered if minor and other.startswith(f"{minor[0]}.")]
    newest = max(alike, key=lambda other: int(other.rpartition(".")[2]), default=offered[0])
    return f'"{newest}"; this release pins {word_list(offered)}'


class Versions(Section):
    """Versions that the environment's images must contain. The defaults are the versions that this release was tested
    with."""

    kubernetes: Annotated[str, Replaces.API | Replaces.NEW_NODES] = Field(
        default_factory=lambda: pinned("kubernetes"),
        pattern=r"^\d+\.\d+\.\d+$",
        examples=["1.2.3"],
        json_schema_extra=_EXTRA,
    )
    """Version of kube-apiserver, controller-manager and scheduler, without a leading v."""
    etcd: Annotated[str, Replaces.ETCD | Replaces.EVENTS] = Field(
        default_factory=lambda: pinned("etcd"),
        pattern=r"^\d+\.\d+\.\d+$",
        examples=["1.2.3"],
        json_schema_extra=_EXTRA,
    )
    """Version of etcd, without a leading v."""

    def pinned(self) -> dict[str, str]:
        """Return the versions that ``tools.toml`` also pins, by release. Only pinned versions are available."""
        return {release: version for release, version in self if version in offered_versions(release)}
