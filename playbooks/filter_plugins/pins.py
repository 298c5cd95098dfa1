"""Filters for the repository's pins: ``from_toml`` parses their files, ``pinned_binaries`` and ``replaced_by`` read
tools.toml, and ``sums_of`` parses lists of checksums."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError


class FilterModule:
    """Entry point that Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {
            "from_toml": from_toml,
            "pinned_binaries": pinned_binaries,
            "replaced_by": replaced_by,
            "sums_of": sums_of,
        }


def from_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document into plain values."""
    try:
        return tomllib.loads(str(text))
    except tomllib.TOMLDecodeError as error:
        raise AnsibleFilterError(f"this is not TOML: {error}") from error


def pinned_binaries(
    pins: Mapping[str, Any], tools: Iterable[str], arch: str, versions: Mapping[str, str] | None = None
) -> list[dict[str, str]]:
    """Return ``name``, ``tool`` and ``version`` of each binary of the named tools. The version is the release's version
    in ``versions``, or the default. If tools.toml has an official download for the architecture, also return the
    download's ``url`` and ``sha256``, and the binary's ``folder`` in the archive."""
    known = {
        tool: (_chosen(name, release, versions or {}), str(release["version"]), content)
        for name, release in pins["release"].items()
        for tool, content in release["tool"].items()
    }
    wanted = list(tools)
    if unknown := [name for name in wanted if name not in known]:
        raise AnsibleFilterError(f"tools.toml has no {', '.join(unknown)}; it has {', '.join(known)}")
    return [
        {"name": binary, "tool": name, "version": known[name][0], **_download(*known[name], arch)}
        for name in wanted
        for binary in known[name][2]["binary"]
    ]


def _chosen(name: str, release: Mapping[str, Any], versions: Mapping[str, str]) -> str:
    pinned = [str(entry) for entry in (release["version"], *release.get("also", ()))]
    version = str(versions.get(name, pinned[0]))
    if version not in pinned:
        raise AnsibleFilterError(f"tools.toml has no {name} {version}; it has {', '.join(pinned)}")
    return version


def _download(version: str, default: str, tool: Mapping[str, Any], arch: str) -> dict[str, str]:
    download = dict(tool.get("download", {}).get(arch, {}))
    also = download.pop("also", {})
    if version != default:
        # A release without a checksum is not downloaded.
        download = {**download, "sha256": also[version]} if version in also else {}
    return {key: str(value).format(version=version) for key, value in download.items()}


def replaced_by(
    runs: Iterable[str], pins: Mapping[str, Any], tools: Iterable[str], versions: Mapping[str, str] | None = None
) -> list[str]:
    """Return a few words for each program on a machine that the pins, with these versions, would replace. ``runs`` has
    lines of a name and a version."""
    pinned = {binary["name"]: binary["version"] for binary in pinned_binaries(pins, tools, "", versions)}
    there = dict(line.split(maxsplit=1) for line in runs)
    return [f"{name} {has} -> {pinned[name]}" for name, has in there.items() if pinned.get(name, has) != has]


def sums_of(text: str) -> dict[str, str]:
    """Parse the lines of a SHA256SUMS file into a mapping from path to checksum."""
    return {path: sha256 for sha256, path in (line.split(maxsplit=1) for line in str(text).splitlines())}
