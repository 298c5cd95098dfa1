"""Installation of the engine's provider plugins, only from archives whose checksums are in ``tools.toml``.

``pulumi plugin install --checksum`` is not used. It accepts an installed plugin of the same or a newer version from any
source, and ignores the checksum when Pulumi.yaml names the package (v3.250.0,
``pkg/cmd/pulumi/plugin/plugin_install.go``).
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root
from longhaul.toolchain.download import Downloader, UnreachableError
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import machine_arch, repository

PIN = ".venv/bin/python -m lab.tools pin-plugins"
"""Command that writes the checksums."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """A provider plugin in ``tools.toml``."""

    package: str
    repository: str
    """GitHub repository whose releases contain its archives."""
    sha256: Mapping[str, Mapping[str, str]]
    """SHA-256 of its archives, by version and machine architecture."""

    def archive(self, version: str, arch: str) -> str:
        """Return the name of an archive."""
        return f"pulumi-resource-{self.package}-v{version}-linux-{arch}.tar.gz"

    def url(self, version: str, arch: str) -> str:
        """Return the URL of an archive: the first URL that the engine itself tries (v3.250.0,
        ``sdk/go/common/workspace/plugins.go``)."""
        return f"https://github.com/{self.repository}/releases/download/v{version}/{self.archive(version, arch)}"

    def checksum(self, version: str, arch: str) -> str:
        """Return the SHA-256 of an archive. Raise :class:`SetupError` when ``tools.toml`` has none."""
        expected = self.sha256.get(version, {}).get(arch)
        if expected is None:
            raise SetupError(
                f"tools.toml has no checksum of the plugin {self.package} {version} for {arch}, so it is not "
                f"installed. `{PIN}` writes checksums on which two servers agree: run it where github.com and "
                "get.pulumi.com can be reached, look at the difference, and commit it"
            )
        return expected


def load_pins(path: Path | None = None) -> dict[str, Pin]:
    """Return the plugins of ``tools.toml`` by package. Raise :class:`SetupError` when that part of the file is
    invalid."""
    path = path or repository() / "tools.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8")).get("plugin", {})
        pins = {
            name: Pin(package=name, repository=value["repository"], sha256=value.get("sha256", {}))
            for name, value in raw.items()
        }
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{path}: {error}") from error
    except KeyError as error:
        raise SetupError(f"{path}: a plugin has no key {error}") from error
    for pin in pins.values():
        for version, sums in pin.sha256.items():
            if wrong := [arch for arch, text in sums.items() if not _SHA256.fullmatch(text)]:
                raise SetupError(
                    f"{path}: plugin.{pin.package}.sha256.{version!r}.{wrong[0]} must be 64 hexadecimal digits"
                )
    return pins


def pinned(package: str, *, pins: Mapping[str, Pin]) -> Pin:
    """Return the pin of a package. Raise :class:`SetupError` when ``tools.toml`` has none."""
    if package not in pins:
        raise SetupError(f"tools.toml has no plugin {package}. It has: {', '.join(pins)}.")
    return pins[package]


def install(pin: Pin, version: str, *, engine: Path, downloader: Downloader, progress: Progress) -> None:
    """Install a plugin into the engine's home, and replace an existing plugin. Raise :class:`SetupError`, and install
    nothing, when the archive has no pinned checksum, cannot be downloaded or differs from the checksum."""
    arch = machine_arch()
    expected = pin.checksum(version, arch)
    url = pin.url(version, arch)
    cache_root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".plugin-", dir=cache_root()) as folder:
        archive = Path(folder) / pin.archive(version, arch)
        try:
            actual = downloader.receive(url, archive)
        except UnreachableError as error:
            raise SetupError(f"the plugin {pin.package} {version} cannot be fetched: {error}") from error
        if actual != expected:
            raise SetupError(
                f"the plugin {pin.package} {version}: the file at {url} is not the pinned one.\n"
                f"Its SHA-256 is {actual}, tools.toml says {expected}.\nDo not trust that file. Nothing was installed."
            )
        words = ("resource", pin.package, version, "--file", str(archive), "--exact", "--reinstall")
        output_of([str(engine), "plugin", "install", *words], env={"PULUMI_SKIP_UPDATE_CHECK": "true"})
    progress(f"plugin {pin.package} {version}: installed, its SHA-256 is {expected}")
