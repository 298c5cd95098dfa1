"""What a rack host runs, by its Node, against what is pinned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.model.versions import pinned
from longhaul.depot.drivers import drivers as pinned_drivers
from longhaul.kubernetes.connection import Object

UPGRADED = {"kubelet": "kubernetes", "containerd": "containerd"}
"""What pods run on, by its release in tools.toml: what role node replaces on a node only when it is told to."""

DRIVER_LABEL = "nvidia.com/cuda.driver-version.major"
"""Branch of the driver that runs, as NVIDIA's discovery and the node's own look write it (docs/gpus.md)."""

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True, kw_only=True)
class RackPins:
    """What every host is to run."""

    programs: Mapping[str, str]
    """Versions by what :func:`versions` calls things."""
    branches: Mapping[str, str]
    """Of the driver, by system, as in ``debian-12``."""
    drivers: frozenset[str] = frozenset()
    """Nodes whose driver is ours to install."""

    @property
    def target(self) -> str:
        """In a few words, for people to compare."""
        told = [f"{name} {version}" for name, version in self.programs.items()]
        branches = (f"driver {branch} ({system})" for system, branch in self.branches.items())
        return ", ".join([*told, *(branches if self.drivers else ())])

    def outdated(self, node: Object) -> list[str]:
        """What it runs that is another than is pinned. Not a driver that the node has not told of, which its GPUs' own
        preflight sees to, nor one of a system that no branch is pinned for."""
        there = versions(node)
        found = [f"{name} {there.get(name)}" for name, pin in self.programs.items() if there.get(name) != pin]
        return [*found, *self._driver(node)]

    def _driver(self, node: Object) -> Iterator[str]:
        there = node["metadata"].get("labels", {}).get(DRIVER_LABEL)
        if there is None or node["metadata"]["name"] not in self.drivers:
            return
        system = str(node["status"]["nodeInfo"].get("osImage", ""))
        pins = [branch for name, branch in self.branches.items() if _is(system, name)]
        if pins and there not in pins:
            yield f"driver {there}"


def rack_pins(drivers: frozenset[str]) -> RackPins:
    """This release's."""
    branches = {system: driver.branch for system, driver in pinned_drivers().items()}
    programs = {tool: pinned(release) for tool, release in UPGRADED.items()}
    return RackPins(programs=programs, branches=branches, drivers=drivers)


def versions(node: Object) -> dict[str, str]:
    """What a node says that it runs, ``kubelet`` and ``containerd``, as tools.toml writes versions."""
    info = node["status"]["nodeInfo"]
    runtime, _, version = info["containerRuntimeVersion"].partition("://")
    return {"kubelet": info["kubeletVersion"].removeprefix("v"), runtime: version.removeprefix("v")}


def numbers(version: str) -> tuple[int, ...]:
    """Of ``v1.2.3`` or ``1.2.3-eks-1``, what is compared."""
    found = _VERSION.match(version)
    return tuple(map(int, found[1].split("."))) if found else ()


def _is(name: str, system: str) -> bool:
    """Whether a system's name for people (``Ubuntu 24.04.3 LTS``, ``Debian GNU/Linux 12 (bookworm)``) is that of
    ``ubuntu-24.04`` or ``debian-12``."""
    identity, _, release = system.partition("-")
    return name.lower().startswith(identity) and re.search(rf"\s{re.escape(release)}(?=[\s.]|$)", name) is not None
