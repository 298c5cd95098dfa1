"""A filter that reads images/image.toml: ``preloaded``, the container images that machines have from their bake on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, Any]:
        return {"preloaded": preloaded}


def preloaded(image: Mapping[str, Any], pins: Mapping[str, Any], kind: str, depot: str = "") -> list[str]:
    """Each image's name and tag. A depot is asked for the tag, and serves what it was filled with; a registry is asked
    for the digest that image.toml has. Without one an image stays out: a node pulls it like any other."""
    versions = {name: release["version"] for release in pins["release"].values() for name in release["tool"]}
    named = (_name(image["image"][tool], versions[tool]) for tool in image["preloaded"].get(kind, ()))
    return [f"{name}@{digest}" if digest and not depot else name for name, digest in named if digest or depot]


def _name(declared: Mapping[str, Any], version: str) -> tuple[str, str]:
    """Name with tag, and digest where one is known."""
    tag = declared["tag"].format(version=version)
    return f"{declared['name']}:{tag}", declared.get("digest", {}).get(tag, "")
