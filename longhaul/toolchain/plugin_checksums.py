"""Checksums of provider plugins, for ``tools.toml``: only those on which two servers agree.

The first server is GitHub, which computes the SHA-256 of every release file at its upload and returns it as the asset's
``digest`` (docs.github.com, REST API, "Get a release by tag name"). The second is get.pulumi.com, whose file is
downloaded and hashed. A plugin's release uploads the same files to both servers (pulumi/pulumi-aws,
``.github/workflows/publish.yml``). Its ``…_checksums.txt`` is not used: it is the output of ``shasum`` without ``-a
256``, so SHA-1.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longhaul.toolchain.download import Downloader, UnreachableError
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.plugins import Pin, load_pins

ARCHES = ("amd64", "arm64")
"""Architectures whose checksums are written."""
_RELEASE = "https://api.github.com/repos/{repository}/releases/tags/v{version}"
_MIRROR = "https://get.pulumi.com/releases/plugins/{archive}"
_RELEASE_BYTES = 8 << 20
"""Largest accepted answer about a release, bytes."""


def checksums(pin: Pin, version: str, *, downloader: Downloader) -> dict[str, str]:
    """Return the SHA-256 of a plugin's archive by architecture. Raise :class:`SetupError` when a server does not
    answer, or when the two servers do not agree."""
    with tempfile.TemporaryDirectory(prefix="longhaul-plugins-") as folder:
        received = Path(folder) / "received"
        try:
            downloader.receive(_RELEASE.format(repository=pin.repository, version=version), received)
            released = _digests(received, what=f"{pin.package} {version}")
            served = {
                arch: downloader.receive(_MIRROR.format(archive=pin.archive(version, arch)), received)
                for arch in ARCHES
            }
        except UnreachableError as error:
            raise SetupError(f"the plugin {pin.package} {version} gets no checksum: {error}") from error
    for arch, actual in served.items():
        archive = pin.archive(version, arch)
        if released.get(archive) != actual:
            raise SetupError(
                f"{archive}: GitHub says its SHA-256 is {released.get(archive, 'not known')}, the file at "
                f"get.pulumi.com has {actual}. Nothing was written: one of them is not the released file"
            )
    return served


def write(path: Path, package: str, version: str, sums: Mapping[str, str]) -> None:
    """Write a plugin's checksums into ``tools.toml``, and replace the checksums of other versions. Idempotent."""
    lines = "".join(f'sha256."{version}".{arch} = "{digest}"\n' for arch, digest in sums.items())
    head = rf'^\[plugin\.{re.escape(package)}\]\nrepository = "[^"\n]+"\n'
    text, count = re.subn(
        rf"({head})(?:sha256\..*\n)*", lambda match: match[1] + lines, path.read_text(encoding="utf-8"), flags=re.M
    )
    if count != 1:
        raise SetupError(f"{path} has no [plugin.{package}] with its `repository` in the next line")
    fresh = path.with_name(f".{path.name}")
    try:
        fresh.write_text(text, encoding="utf-8")
        load_pins(fresh)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def _digests(path: Path, *, what: str) -> dict[str, str]:
    """Return the SHA-256 of a release's files by name, from GitHub's answer in ``path``."""
    if path.stat().st_size > _RELEASE_BYTES:
        raise SetupError(f"the plugin {what}: GitHub's answer about its release is longer than {_RELEASE_BYTES} bytes")
    try:
        assets: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["assets"]
        pairs = [(str(asset["name"]), str(asset.get("digest") or "")) for asset in assets]
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(f"the plugin {what}: GitHub's answer about its release cannot be read: {error}") from error
    return {name: text.removeprefix("sha256:") for name, text in pairs if text.startswith("sha256:")}
