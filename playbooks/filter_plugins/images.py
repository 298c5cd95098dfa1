"""Filters for container images: ``preloaded`` lists the images in images/image.toml that a bake puts on machines, and
``with_digests`` adds the digests that a depot's builder has signed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError


class FilterModule:
    """Entry point that Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {"preloaded": preloaded, "with_digests": with_digests}


def preloaded(image: Mapping[str, Any], pins: Mapping[str, Any], kind: str, depot: str = "") -> list[str]:
    """Return the name and tag of each image. For images from a registry, add the digest in image.toml. Such an image
    without a digest is left out, and nodes pull it like any other. For images from a depot, the builder's signature
    gives the digest later (:func:`with_digests`)."""
    versions = {name: release["version"] for release in pins["release"].values() for name in release["tool"]}
    named = (_name(image["image"][tool], versions[tool]) for tool in image["preloaded"].get(kind, ()))
    return [f"{name}@{digest}" if digest and not depot else name for name, digest in named if digest or depot]


def with_digests(names: Iterable[str], index: str) -> list[str]:
    """Return the names with their digests from a depot's ``images/index.json``."""
    entries = json.loads(index)["manifests"]
    digests = {entry["annotations"]["io.containerd.image.name"]: entry["digest"] for entry in entries}
    wanted = list(names)
    if missing := [name for name in wanted if name not in digests]:
        raise AnsibleFilterError(f"the depot lacks {', '.join(missing)}: fill it for this environment")
    return [f"{name}@{digests[name]}" for name in wanted]


def _name(declared: Mapping[str, Any], version: str) -> tuple[str, str]:
    """Return the name with the tag, and the digest; empty if the digest is not known."""
    tag = declared["tag"].format(version=version)
    return f"{declared['name']}:{tag}", declared.get("digest", {}).get(tag, "")
