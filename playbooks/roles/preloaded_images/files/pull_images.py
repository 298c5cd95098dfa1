#!/usr/bin/env python3
"""Fetch container images from their registries, or from a depot, into archives for `ctr images import`.

    pull_images.py [--depot URL] [--into FOLDER] NAME:TAG[@sha256:DIGEST] …

The program makes an archive for each image: an OCI image layout with the image's name and tag. The program checks every
blob against its digest, and the manifest against the digest in the argument, if there is one. An archive that is up to
date is not fetched again. Other archives in the folder are removed. The program prints `changed` if anything has
changed, otherwise `the same`.

The program follows the OCI Distribution Specification, "Pulling manifests" and "Pulling blobs", and the OCI Image
Format Specification, "Image Layout".
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import platform
import re
import sys
import tarfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

FOLDER = Path("/usr/share/longhaul/images")
INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
TIMEOUT_S = 60.0
"""Longest silence of a server in seconds."""
PIECE = 1 << 20


class PullError(Exception):
    """Raised if an image cannot be fetched."""


@dataclass(frozen=True)
class Reference:
    """Name of a container image."""

    text: str
    """Name with the tag, as in a pod's specification."""
    host: str
    repository: str
    wanted: str
    """Version to request from the registry: the digest if there is one, otherwise the tag."""

    @classmethod
    def of(cls, text: str) -> Reference:
        """Parse a name. Raise ``PullError`` for a name without registry or tag."""
        match = re.fullmatch(r"(([^/@]+)/([^:@]+):([\w.-]+))(?:@(sha256:[0-9a-f]{64}))?", text)
        if not match or not re.search("[.:]", match[2]):
            raise PullError(f"{text}: an image is named REGISTRY/PATH:TAG or REGISTRY/PATH:TAG@sha256:DIGEST here")
        return cls(text=match[1], host=match[2], repository=match[3], wanted=match[5] or match[4])

    @property
    def file_name(self) -> str:
        """File name of the image's archive."""
        return re.sub(r"[^\w.-]", "_", self.text) + ".tar"


@dataclass(frozen=True)
class Registry:
    """Source of one image."""

    reference: Reference
    depot: str

    def open(self, kind: str, what: str, accept: tuple[str, ...] = ()) -> Any:
        """Return the answer to a GET without a sign-in. Images that every node runs are public, or in the depot."""
        base = self.depot.rstrip("/") or f"https://{self.reference.host}"
        query = f"?ns={self.reference.host}" if self.depot else ""
        url = f"{base}/v2/{self.reference.repository}/{kind}/{what}{query}"
        request = urllib.request.Request(url, headers={"Accept": ", ".join(accept)} if accept else {})  # noqa: S310
        try:
            return urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310
        except urllib.error.HTTPError as error:
            wants = "; it wants a sign-in: take the image from a depot" if error.code == 401 else ""
            raise PullError(f"{self.reference.text}: {url} answers {error.code} {error.reason}{wants}") from error
        except OSError as error:
            raise PullError(f"{self.reference.text}: {url}: {getattr(error, 'reason', error)}") from error

    def manifest(self, what: str) -> tuple[bytes, dict[str, Any]]:
        """Return a manifest or index, both as received and parsed. Raise ``PullError`` if it does not have the
        requested digest."""
        with self.open("manifests", what, (*INDEXES, *MANIFESTS)) as answer:
            raw: bytes = answer.read()
        if what.startswith("sha256:") and what != digest_of(raw):
            raise PullError(f"{self.reference.text}: what came for {what} is {digest_of(raw)}")
        return raw, json.loads(raw)


def digest_of(content: bytes) -> str:
    """Return a digest in the form of registries."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def chosen(registry: Registry) -> tuple[bytes, dict[str, Any]]:
    """Return the manifest for this machine's architecture."""
    raw, manifest = registry.manifest(registry.reference.wanted)
    if manifest.get("mediaType") not in INDEXES and "manifests" not in manifest:
        return raw, manifest
    wanted = ARCHITECTURES.get(platform.machine(), platform.machine())
    for entry in manifest["manifests"]:
        place = entry.get("platform", {})
        if (place.get("os"), place.get("architecture")) == ("linux", wanted):
            return registry.manifest(entry["digest"])
    raise PullError(f"{registry.reference.text} is not made for linux/{wanted}")


def copy_blob(registry: Registry, blob: dict[str, Any], tar: tarfile.TarFile) -> None:
    """Copy a blob into the archive. Raise ``PullError`` if its content does not have the requested digest."""
    with registry.open("blobs", blob["digest"]) as answer:
        checked = Checked(answer)
        add(tar, blob["digest"], checked, int(blob["size"]))
    if checked.digest() != blob["digest"]:
        raise PullError(f"{registry.reference.text}: what came for {blob['digest']} is {checked.digest()}")


class Checked(io.RawIOBase):
    """Stream that computes the SHA-256 of everything that is read through it."""

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__()
        self._source, self._sum = source, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self._source.read(min(size, PIECE) if size >= 0 else PIECE)
        self._sum.update(piece)
        return piece

    def digest(self) -> str:
        return f"sha256:{self._sum.hexdigest()}"


def add(tar: tarfile.TarFile, digest: str, content: IO[bytes] | io.RawIOBase, size: int) -> None:
    """Add one blob to the archive."""
    entry = tarfile.TarInfo(f"blobs/sha256/{digest.removeprefix('sha256:')}")
    entry.size = size
    tar.addfile(entry, content)


def write_archive(registry: Registry, raw: bytes, manifest: dict[str, Any], path: Path) -> None:
    """Write the archive in one step."""
    digest = digest_of(raw)
    annotations = {"io.containerd.image.name": registry.reference.text}
    entry = {"mediaType": manifest.get("mediaType", MANIFESTS[0]), "digest": digest, "size": len(raw)}
    index = {"schemaVersion": 2, "mediaType": INDEXES[0], "manifests": [entry | {"annotations": annotations}]}
    part = path.with_suffix(".part")
    try:
        with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as tar:
            for name, text in (("oci-layout", '{"imageLayoutVersion":"1.0.0"}'), ("index.json", json.dumps(index))):
                plain = tarfile.TarInfo(name)
                plain.size = len(text)
                tar.addfile(plain, io.BytesIO(text.encode()))
            add(tar, digest, io.BytesIO(raw), len(raw))
            # An image may contain a layer twice.
            for blob in {blob["digest"]: blob for blob in (manifest["config"], *manifest["layers"])}.values():
                copy_blob(registry, blob, tar)
        part.chmod(0o644)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def archived(path: Path) -> str:
    """Return the digest of the manifest in an archive; empty if there is no readable archive."""
    try:
        with tarfile.open(path) as tar, tar.extractfile("index.json") as file:  # type: ignore[union-attr]
            return str(json.load(file)["manifests"][0]["digest"])
    except (OSError, tarfile.TarError, ValueError, KeyError, IndexError, AttributeError):
        return ""


def pull(reference: Reference, *, depot: str, into: Path) -> bool:
    """Make an image's archive, unless it is up to date. Return whether the archive was made."""
    path = into / reference.file_name
    registry = Registry(reference, depot)
    try:
        raw, manifest = chosen(registry)
        if archived(path) == digest_of(raw):
            return False
        write_archive(registry, raw, manifest, path)
    except (ValueError, KeyError, TypeError, OSError, tarfile.TarError) as error:
        raise PullError(f"{reference.text} cannot be had: {error!r}") from error
    return True


def main(argv: list[str] | None = None) -> int:
    """Return 0 once every image has its archive, or 1 if an image cannot be fetched."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depot", default="", help="where a depot answers (https://…)")
    parser.add_argument("--into", type=Path, default=FOLDER, help=f"default: {FOLDER}")
    parser.add_argument("names", nargs="+", metavar="IMAGE")
    options = parser.parse_args(argv)
    try:
        references = [Reference.of(name) for name in options.names]
        options.into.mkdir(parents=True, exist_ok=True)
        changed = [
            reference.text for reference in references if pull(reference, depot=options.depot, into=options.into)
        ]
    except PullError as error:
        print(error, file=sys.stderr)
        return 1
    wanted = {reference.file_name for reference in references}
    for path in options.into.iterdir():
        if path.name not in wanted:
            path.unlink()
            changed.append(path.name)
    print("changed" if changed else "the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
