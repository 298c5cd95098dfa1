"""Container images around one binary, as an OCI image layout.

The layout's ``index.json`` names each image by the annotation ``io.containerd.image.name``, which both ``ctr images
import`` of a tar file and :mod:`longhaul.artifacts.http_app` read.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from contract.annotations import IMAGE_NAME

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
# Not compressed: the layer stays on one machine, and compressing would take longer than everything else.
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_TAG = "org.opencontainers.image.ref.name"
_CAPABILITIES = {"cap_net_bind_service": 10}
"""Numbers of capabilities in linux/capability.h."""
_VFS_CAP_REVISION_2 = 0x02000000
_VFS_CAP_EFFECTIVE = 1


@dataclass(frozen=True, kw_only=True)
class Image:
    """Parts of an image."""

    name: str
    """Name with its tag."""
    binary: Path
    entrypoint: tuple[str, ...]
    command: tuple[str, ...] = ()
    user: str = ""
    capabilities: tuple[str, ...] = ()
    libraries: Mapping[str, Path] = field(default_factory=dict)
    """Shared libraries of a dynamic binary, by their path in the image, such as ``lib64/ld-linux-x86-64.so.2``."""
    system: Path | None = None
    """Folder with further content of the image; root owns all of it."""


def write_layout(into: Path, images: Iterable[Image], *, arch: str) -> None:
    """Write the layout into the folder ``into``."""
    blobs = into / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    manifests = [_write_image(blobs, image, arch=arch) for image in images]
    (into / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (into / "index.json").write_bytes(_plain({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}))


def _write_image(blobs: Path, image: Image, *, arch: str) -> dict[str, Any]:
    layer = _write_layer(blobs, image)
    settings: dict[str, Any] = {
        "Entrypoint": list(image.entrypoint),
        "Cmd": list(image.command),
        "User": image.user,
        "WorkingDir": "/",
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    }
    config = {
        "architecture": arch,
        "os": "linux",
        "config": {key: value for key, value in settings.items() if value},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        "history": [{"created_by": f"longhaul: {image.binary.name}"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _write_blob(blobs, _plain(config), media_type=_CONFIG),
        "layers": [layer],
    }
    descriptor = _write_blob(blobs, _plain(manifest), media_type=MANIFEST)
    annotations = {IMAGE_NAME: image.name, _TAG: image.name.rpartition(":")[2]}
    return descriptor | {"platform": {"architecture": arch, "os": "linux"}, "annotations": annotations}


def _write_layer(blobs: Path, image: Image) -> dict[str, Any]:
    making = blobs / "making"
    with tarfile.open(making, "w", format=tarfile.PAX_FORMAT) as tar, image.binary.open("rb") as binary:
        of_libraries = {str(folder) for path in image.libraries for folder in PurePosixPath(path).parents[:-1]}
        for folder in sorted({"dev", "etc", "proc", "sys", "tmp", *of_libraries}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        if image.system is not None:
            _add_system(tar, image.system, known=frozenset(tar.getnames()))
        for name, path in sorted(image.libraries.items()):
            with path.open("rb") as content:
                library = tarfile.TarInfo(name)
                library.mode, library.size = 0o755, path.stat().st_size
                tar.addfile(library, content)
        program = tarfile.TarInfo(image.binary.name)
        program.mode, program.size = 0o755, image.binary.stat().st_size
        if image.capabilities:
            program.pax_headers = {"SCHILY.xattr.security.capability": _file_capability(image.capabilities)}
        tar.addfile(program, binary)
    with making.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = making.stat().st_size
    making.rename(blobs / digest)
    return {"mediaType": _LAYER, "digest": f"sha256:{digest}", "size": size}


def _add_system(tar: tarfile.TarFile, root: Path, *, known: frozenset[str]) -> None:
    for path in sorted(root.rglob("*")):
        entry = tar.gettarinfo(path, arcname=str(path.relative_to(root)))
        if entry.name in known and entry.isdir():
            continue
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        if entry.isreg():
            with path.open("rb") as content:
                tar.addfile(entry, content)
        else:
            tar.addfile(entry)


def _file_capability(names: Iterable[str]) -> str:
    """Return the value of the extended attribute (linux/capability.h, ``vfs_cap_data``): capabilities that are
    permitted and effective."""
    permitted = sum(1 << _CAPABILITIES[name] for name in names)
    # The tar header must be text. All bytes are ASCII for the capabilities above.
    return struct.pack("<5I", _VFS_CAP_REVISION_2 | _VFS_CAP_EFFECTIVE, permitted, 0, 0, 0).decode("ascii")


def _write_blob(blobs: Path, content: bytes, *, media_type: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    (blobs / digest).write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _plain(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def copy_of(binary: Path, *, into: Path) -> None:
    """Make the file ``into`` a hard link to ``binary``, or a copy when a link is not possible."""
    into.parent.mkdir(parents=True, exist_ok=True)
    try:
        into.hardlink_to(binary)
    except OSError:
        # The folders may be on different file systems, or on one without links. A full disk fails the copy as well.
        shutil.copy2(binary, into)
