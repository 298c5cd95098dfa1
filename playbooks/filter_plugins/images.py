"""Filters for container images: ``preloaded`` lists those that a bake puts on machines, and ``digests_of`` reads what a
depot has."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleFilterError


class FilterModule:
    """Entry point that Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {"digests_of": digests_of, "preloaded": preloaded}


def digests_of(index: str) -> dict[str, str]:
    """Return the digest of each image in a depot's ``images/index.json``, by name with tag."""
    return {one["annotations"]["io.containerd.image.name"]: one["digest"] for one in json.loads(index)["manifests"]}


def preloaded(
    image: Mapping[str, Any], pins: Mapping[str, Any], kind: str, depot: Mapping[str, str] | None = None
) -> list[str]:
    """Return each image's name, tag and digest. The digest is the one in ``depot``, the images that a depot's builder
    has signed for. Without a depot it is the one in image.toml; an image that has none there is left out, and a node
    pulls it like any other."""
    versions = {name: release["version"] for release in pins["release"].values() for name in release["tool"]}
    named = [_name(image["image"][tool], versions[tool]) for tool in image["preloaded"].get(kind, ())]
    if depot is None:
        return [f"{name}@{digest}" for name, digest in named if digest]
    if missing := [name for name, _ in named if name not in depot]:
        raise AnsibleFilterError(f"the depot lacks {', '.join(missing)}: fill it for this environment")
    return [f"{name}@{depot[name]}" for name, _ in named]


def _name(declared: Mapping[str, Any], version: str) -> tuple[str, str]:
    """Return name with tag, and the digest where one is known."""
    tag = declared["tag"].format(version=version)
    return f"{declared['name']}:{tag}", declared.get("digest", {}).get(tag, "")
