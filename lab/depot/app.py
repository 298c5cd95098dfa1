"""The depot over HTTP: files as they are, and the image layout as a read-only OCI registry.

Of the registry as much as pulling takes (OCI Distribution Specification, "end-1" to "end-3"). A client that uses it as
a mirror says which registry it means by ``?ns=``; one that does not is given the image of that path.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from lab.depot.oci import MANIFEST, NAME

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VERSION = {"Docker-Distribution-Api-Version": "registry/2.0"}


def depot_app(root: Path) -> web.Application:
    """An application that serves the folder :func:`lab.depot.build.ensure` gave."""
    registry = _Registry(blobs=root / "images" / "blobs" / "sha256", manifests=_manifests(root / "images"))
    app = web.Application()
    app.router.add_get("/v2/", registry.version)
    app.router.add_get("/v2/{name:.+}/manifests/{reference}", registry.manifest)
    app.router.add_get("/v2/{name:.+}/blobs/{digest}", registry.blob)
    for name in ("binaries", "debian"):
        app.router.add_static(f"/{name}/", root / name)
    return app


def _manifests(layout: Path) -> dict[str, str]:
    """The digest of each image's manifest by the image's whole name."""
    index = json.loads((layout / "index.json").read_bytes())
    return {entry["annotations"][NAME]: entry["digest"] for entry in index["manifests"]}


@dataclass(frozen=True, kw_only=True)
class _Registry:
    blobs: Path
    manifests: dict[str, str]

    async def version(self, _request: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers=_VERSION)

    async def manifest(self, request: web.Request) -> web.StreamResponse:
        name, reference = request.match_info["name"], request.match_info["reference"]
        repositories = self._repositories(name, request.query.get("ns", ""))
        if not repositories:
            return _error(404, "NAME_UNKNOWN", f"there is no image {name} here")
        known = {self.manifests[image] for image in repositories}
        digest = next((self.manifests[i] for i in repositories if i.rpartition(":")[2] == reference), reference)
        if digest not in known:
            return _error(404, "MANIFEST_UNKNOWN", f"{name} has no {reference} here")
        return self._file(digest, content_type=MANIFEST)

    async def blob(self, request: web.Request) -> web.StreamResponse:
        name, digest = request.match_info["name"], request.match_info["digest"]
        if not self._repositories(name, request.query.get("ns", "")):
            return _error(404, "NAME_UNKNOWN", f"there is no image {name} here")
        if not _DIGEST.fullmatch(digest) or not (self.blobs / digest.removeprefix("sha256:")).is_file():
            return _error(404, "BLOB_UNKNOWN", f"{name} has no blob {digest} here")
        return self._file(digest, content_type="application/octet-stream")

    def _repositories(self, name: str, registry: str) -> list[str]:
        """The images of that name, with their tags; of whatever registry when none is named."""
        found = ((image, *image.rpartition(":")[0].partition("/")) for image in self.manifests)
        return [image for image, host, _, path in found if path == name and registry in ("", host)]

    def _file(self, digest: str, *, content_type: str) -> web.StreamResponse:
        headers = {**_VERSION, "Content-Type": content_type, "Docker-Content-Digest": digest}
        return web.FileResponse(self.blobs / digest.removeprefix("sha256:"), headers=headers)


def _error(status: int, code: str, message: str) -> web.Response:
    body = {"errors": [{"code": code, "message": message}]}
    return web.json_response(body, status=status, headers=_VERSION)
