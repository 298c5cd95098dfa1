"""Compares a host's programs, as its Node reports them, with the pinned versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from components.model.versions.section import pinned
from contract.kubernetes.connection import Object
from contract.labels import DRIVER_LABEL
from longhaul.artifacts.nvidia_driver import drivers as pinned_drivers

UPGRADED = {"kubelet": "kubernetes", "containerd": "containerd"}
"""Programs that run the pods, each with its release in tools.toml. The Ansible role ``node`` replaces them on a node
only on request."""

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True, kw_only=True)
class HostPins:
    """Versions that every host should run."""

    programs: Mapping[str, str]
    """Versions by the names in :func:`versions`."""
    branches: Mapping[str, str]
    """Branches of the driver by operating system, such as ``debian-12``."""
    drivers: frozenset[str] = frozenset()
    """Names of nodes whose driver is installed by Longhaul."""

    @property
    def target(self) -> str:
        """Return the versions as short text, for people to compare."""
        pins = [f"{name} {version}" for name, version in self.programs.items()]
        branches = (f"driver {branch} ({system})" for system, branch in self.branches.items())
        return ", ".join([*pins, *(branches if self.drivers else ())])

    def outdated(self, node: Object) -> list[str]:
        """Return the programs of a node whose version is not the pinned version. A driver does not count when the node
        has not reported it (the GPUs' own preflight handles that), or when no branch is pinned for the node's operating
        system."""
        there = versions(node)
        differing = [f"{name} {there.get(name)}" for name, pin in self.programs.items() if there.get(name) != pin]
        return [*differing, *self._driver(node)]

    def _driver(self, node: Object) -> Iterator[str]:
        there = node["metadata"].get("labels", {}).get(DRIVER_LABEL)
        if there is None or node["metadata"]["name"] not in self.drivers:
            return
        system = str(node["status"]["nodeInfo"].get("osImage", ""))
        pins = [branch for name, branch in self.branches.items() if _is(system, name)]
        if pins and there not in pins:
            yield f"driver {there}"


def host_pins(drivers: frozenset[str], versions: Mapping[str, str]) -> HostPins:
    """Return the pins of this release, with the environment's ``versions`` of releases."""
    branches = {system: driver.branch for system, driver in pinned_drivers().items()}
    programs = {tool: versions.get(release) or pinned(release) for tool, release in UPGRADED.items()}
    return HostPins(programs=programs, branches=branches, drivers=drivers)


def versions(node: Object) -> dict[str, str]:
    """Return the versions of ``kubelet`` and ``containerd`` that a node reports, in the format of tools.toml."""
    info = node["status"]["nodeInfo"]
    runtime, _, version = info["containerRuntimeVersion"].partition("://")
    return {"kubelet": info["kubeletVersion"].removeprefix("v"), runtime: version.removeprefix("v")}


def numbers(version: str) -> tuple[int, ...]:
    """Return the comparable numbers of ``v1.2.3`` or ``1.2.3-eks-1``."""
    match = _VERSION.match(version)
    return tuple(map(int, match[1].split("."))) if match else ()


def _is(name: str, system: str) -> bool:
    """Return whether an operating system's display name (``Ubuntu 24.04.3 LTS``, ``Debian GNU/Linux 12 (bookworm)``)
    belongs to a name such as ``ubuntu-24.04`` or ``debian-12``."""
    identity, _, release = system.partition("-")
    return name.lower().startswith(identity) and re.search(rf"\s{re.escape(release)}(?=[\s.]|$)", name) is not None
