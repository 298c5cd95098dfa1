"""Checksums of provider plugins: their file beside the stack files, and the two servers that agree on a new one.

The first server is GitHub, which computes the SHA-256 of every release file at its upload and returns it as the asset's
``digest`` (docs.github.com, REST API, "Get a release by tag name"; files from before June 2025 have none). The second
is get.pulumi.com, whose file is downloaded and hashed. A plugin's release uploads the same files to both servers
(pulumi/pulumi-aws, ``.github/workflows/publish.yml``). Its ``…_checksums.txt`` is not used: it is the output of
``shasum`` without ``-a 256``, so SHA-1.

The file has the format of ``sha256sum --check``. Each line names one archive, or the executable in it, so each says its
plugin, version and architecture.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.toolchain.download import Downloader, Received, UnreachableError, quiet
from longhaul.toolchain.errors import SetupError, from_os
from longhaul.toolchain.plugin_sources import PluginSource

ARCHES = ("amd64", "arm64")
"""Architectures whose checksums `pin-plugins` writes."""
_RELEASE_BYTES = 8 << 20
"""Largest accepted answer about a release, bytes."""
_LINE = re.compile(r"([0-9a-f]{64})  ([\w.+-]+)", re.ASCII)
_HEADER = """\
# SHA-256 of the engine's provider plugins: of each archive, on which GitHub and get.pulumi.com agreed when it was first
# taken, and of the executable in it. Longhaul adds lines; commit them. No other archive is installed, and no other
# executable is run.
"""


@dataclass(frozen=True)
class ChecksumFile:
    """The file with the checksums of one project, by name of the archive or executable. It may be missing."""

    path: Path

    def read(self) -> dict[str, str]:
        """Return the SHA-256 of each archive and executable. Raise :class:`SetupError` when a line is invalid, or
        contradicts another."""
        sums: dict[str, str] = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return sums
        except (OSError, ValueError) as error:
            raise SetupError(f"{self.path} cannot be read: {error}") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            match = _LINE.fullmatch(line.rstrip())
            if match is None:
                raise SetupError(
                    f"{self.path}:{number}: {line!r} is not a checksum: write 64 hexadecimal digits, two blanks and "
                    "the archive's name, or restore the file from git"
                )
            if sums.setdefault(match[2], match[1]) != match[1]:
                raise SetupError(
                    f"{self.path}:{number}: {match[2]} has another checksum in an earlier line. One of them is wrong: "
                    "`git log -p` of the file shows who wrote which"
                )
        return sums

    def add(self, sums: Mapping[str, str]) -> None:
        """Add checksums, and keep all others. Idempotent."""
        if sums.items() <= self.read().items():
            return
        lines = sorted((name, digest) for name, digest in {**self.read(), **sums}.items())
        fresh = self.path.with_name(f".{self.path.name}")
        try:
            fresh.write_text(_HEADER + "".join(f"{digest}  {name}\n" for name, digest in lines), encoding="utf-8")
            os.replace(fresh, self.path)
        except OSError as error:
            raise from_os(error, path=self.path, doing="checksums of plugins") from error
        finally:
            fresh.unlink(missing_ok=True)


def fetch_agreed(
    source: PluginSource, version: str, arch: str, *, archive: Path, downloader: Downloader, received: Received = quiet
) -> str:
    """Download an archive from the second server, and return its SHA-256. Raise :class:`SetupError` unless the first
    server says the same, :class:`UnreachableError` when one of them cannot be asked."""
    name = source.archive(version, arch)
    published = _digests(source, version, archive, downloader).get(name)
    if published is None:
        raise SetupError(
            f"{name}: GitHub publishes no SHA-256 of it ({source.release(version)}; files that were uploaded before "
            "June 2025 have none), so no second server vouches for the one at get.pulumi.com. Nothing was installed. "
            "Learn its SHA-256 in another way, and write it as a line of `sha256sum` into the file of checksums"
        )
    actual = downloader.receive(source.mirror(version, arch), archive, received=received)
    if actual != published:
        raise SetupError(
            f"{name}: two servers disagree, so nothing was installed or written.\n"
            f"  {published}  says {source.release(version)}\n"
            f"  {actual}  has the file at {source.mirror(version, arch)}\n"
            "One of them is not the released file. A proxy that answers with a page of its own is one reason; run this "
            "again from another network, and install neither until they agree"
        )
    return actual


def _digests(source: PluginSource, version: str, path: Path, downloader: Downloader) -> dict[str, str]:
    """Return the SHA-256 of a release's files by name, from GitHub's answer, which is written to ``path``."""
    what = f"the plugin {source.package} {version}"
    try:
        downloader.receive(source.release(version), path)
    except UnreachableError as error:
        if error.status not in (403, 429):
            raise
        limit = "GitHub answers 60 such questions an hour to one address (REST API, rate limits): try again later"
        raise UnreachableError(f"{error}. {limit}", status=error.status) from error
    if path.stat().st_size > _RELEASE_BYTES:
        raise SetupError(f"{what}: GitHub's answer about its release is longer than {_RELEASE_BYTES} bytes")
    try:
        assets: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["assets"]
        pairs = [(str(asset["name"]), str(asset.get("digest") or "")) for asset in assets]
    except (ValueError, KeyError, TypeError) as error:
        raise SetupError(f"{what}: GitHub's answer about its release cannot be read: {error}") from error
    return {name: text.removeprefix("sha256:") for name, text in pairs if text.startswith("sha256:")}
