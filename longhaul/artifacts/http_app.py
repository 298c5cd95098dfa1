"""The depot over HTTP: its files unchanged, and its image layout as a read-only OCI registry.

The registry implements only what pulling needs (OCI Distribution Specification, "end-1" to "end-3"). A client that uses
it as a mirror names the original registry by ``?ns=``; otherwise the path alone names the image. When a depot is
replaced under the same name, the new depot is served.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from contract.annotations import IMAGE_NAME
from longhaul.artifacts.manifest import MANIFEST, SUMS
from longhaul.artifacts.signature import SUFFIX

INDEX = "images/index.json"
"""Names and digests of all images. It is served like any other file, and nodes check the images that they pull against
it."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = {"Docker-Distribution-Api-Version": "registry/2.0"}


def depot_app(root: Path) -> web.Application:
    """Return an application that serves the folder which :mod:`longhaul.artifacts.layout` fills."""
    registry = _Registry(layout=_Layout(root / "images"))
    app = web.Application()
    app.router.add_get("/v2/", registry.version)
    app.router.add_get("/v2/{name:.+}/manifests/{reference}", registry.manifest)
    app.router.add_get("/v2/{name:.+}/blobs/{digest}", registry.blob)
    for name in ("binaries", "debian"):
        app.router.add_static(f"/{name}/", root / name)
    for name in (MANIFEST, SUMS, f"{SUMS}{SUFFIX}", INDEX):
        app.router.add_get(f"/{name}", _file(root / name))
    return app


def _file(path: Path) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.FileResponse(path)

    return answer


@dataclass(frozen=True)
class _Manifest:
    digest: str
    media_type: str


class _Layout:
    """An image layout. Its index is read again whenever the file has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: tuple[int, int] = (0, 0)
        self._manifests: dict[str, _Manifest] = {}
        self.manifests()

    def manifests(self) -> dict[str, _Manifest]:
        """Return the manifest of each image by the image's full name."""
        path = self._folder / "index.json"
        state = path.stat()
        if self._read != (state.st_ino, state.st_mtime_ns):
            index = json.loads(path.read_bytes())
            self._manifests = {
                entry["annotations"][IMAGE_NAME]: _Manifest(entry["digest"], entry["mediaType"])
                for entry in index["manifests"]
            }
            self._read = (state.st_ino, state.st_mtime_ns)
        return self._manifests

    def blob(self, digest: str) -> Path:
        """Return the path of a blob, whether it exists or not."""
        return self._folder / "blobs" / "sha256" / digest.removeprefix("sha256:")


@dataclass(frozen=True, kw_only=True)
class _Registry:
    layout: _Layout

    async def version(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers=_VERSION)

    async def manifest(self, request: web.Request) -> web.StreamResponse:
        name, reference = request.match_info["name"], request.match_info["reference"]
        images = self._images(name, request.query.get("ns", ""))
        if not images:
            return _error(404, "NAME_UNKNOWN", f"there is no image {name} here")
        for image, manifest in images.items():
            if reference in (image.rpartition(":")[2], manifest.digest):
                return self._blob(manifest.digest, content_type=manifest.media_type)
        return _error(404, "MANIFEST_UNKNOWN", f"{name} has no {reference} here")

    async def blob(self, request: web.Request) -> web.StreamResponse:
        name, digest = request.match_info["name"], request.match_info["digest"]
        if not self._images(name, request.query.get("ns", "")):
            return _error(404, "NAME_UNKNOWN", f"there is no image {name} here")
        if not _DIGEST.fullmatch(digest) or not self.layout.blob(digest).is_file():
            return _error(404, "BLOB_UNKNOWN", f"{name} has no blob {digest} here")
        return self._blob(digest, content_type="application/octet-stream")

    def _images(self, name: str, registry: str) -> dict[str, _Manifest]:
        """Return the images with this name, with their tags. An empty ``registry`` matches any."""
        images = {}
        for image, manifest in self.layout.manifests().items():
            host, _, path = image.rpartition(":")[0].partition("/")
            if path == name and registry in ("", host):
                images[image] = manifest
        return images

    def _blob(self, digest: str, *, content_type: str) -> web.StreamResponse:
        headers = {**_VERSION, "Content-Type": content_type, "Docker-Content-Digest": digest}
        return web.FileResponse(self.layout.blob(digest), headers=headers)


def _error(status: int, code: str, message: str) -> web.Response:
    body = {"errors": [{"code": code, "message": message}]}
    return web.json_response(body, status=status, headers=_VERSION)
