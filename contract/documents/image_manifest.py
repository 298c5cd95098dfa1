"""Manifest of a baked image. The machine lists its contents in the manifest while it is baked, and image stores read
the manifest. The same contents give the same file, because the file contains no date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PATH = Path("/usr/share/longhaul/image.json")
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class ImageContent:
    """Content of an image."""

    kind: str
    """Kind of machine that was baked."""
    commit: str = ""
    """Git commit from which the image was baked."""
    sources: str = ""
    """SHA-256 of the files from which the image was baked."""
    system: Mapping[str, str] = field(default_factory=dict)
    """Name and codename of the operating system."""
    kernels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Versions of kernel modules, by kernel release and module."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Version of each package, by package."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Version of each pinned release, by release, as its binary reports it."""
    binaries: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each binary, by binary."""
    images: Mapping[str, str] = field(default_factory=dict)
    """Digest of each container image, by image."""

    @property
    def digest(self) -> str:
        """SHA-256 of the image's sources, packages, binaries, container images and kernels; hexadecimal."""
        made_of = json.dumps([self.sources, self.packages, self.binaries, self.images, self.kernels], sort_keys=True)
        return hashlib.sha256(made_of.encode()).hexdigest()

    def to_text(self, version: str) -> str:
        """Return the manifest. If ``version`` is empty, the version is made of the operating system's codename and the
        digest."""
        named = version or f"{self.system['codename']}-{self.digest[:16]}"
        return json.dumps({"version": named, "digest": self.digest, "format": FORMAT, **vars(self)}, indent=1) + "\n"


@dataclass(frozen=True, kw_only=True)
class ImageSummary:
    """The part of a manifest that image stores read."""

    version: str
    digest: str
    kind: str


def summary_of(text: str) -> ImageSummary:
    """Read a manifest. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the manifest is malformed."""
    raw = json.loads(text)
    return ImageSummary(version=str(raw["version"]), digest=str(raw["digest"]), kind=str(raw["kind"]))


def version_of(text: str) -> str:
    """Return the image's version. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the manifest is malformed."""
    return str(json.loads(text)["version"])


def versions_of(text: str) -> dict[str, str]:
    """Return the versions in the image, by release; empty if the manifest lists none. Raise ``ValueError`` if the text
    is not JSON."""
    raw = json.loads(text)
    versions = raw.get("versions") if isinstance(raw, dict) else None
    return versions if isinstance(versions, dict) else {}
