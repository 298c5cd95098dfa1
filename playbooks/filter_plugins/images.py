"""Filter that reads images/image.toml: ``preloaded`` lists the container images that a bake puts on machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class FilterModule:
    """Entry point that Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {"preloaded": preloaded}


def preloaded(image: Mapping[str, Any], pins: Mapping[str, Any], kind: str, depot: str = "") -> list[str]:
    """Return each image's name and tag. A depot is asked for the tag, and serves what it was filled with. A registry is
    asked for the digest in image.toml; an image without one is left out, and a node pulls it like any other."""
    versions = {name: release["version"] for release in pins["release"].values() for name in release["tool"]}
    named = (_name(image["image"][tool], versions[tool]) for tool in image["preloaded"].get(kind, ()))
    return [f"{name}@{digest}" if digest and not depot else name for name, digest in named if digest or depot]


def _name(declared: Mapping[str, Any], version: str) -> tuple[str, str]:
    """Return name with tag, and the digest where one is known."""
    tag = declared["tag"].format(version=version)
    return f"{declared['name']}:{tag}", declared.get("digest", {}).get(tag, "")
