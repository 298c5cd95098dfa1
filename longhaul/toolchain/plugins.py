"""Installation of the engine's provider plugins, only from archives with the checksums in the project's file. Where two
servers agree on an archive that has none, its checksum is written into that file first.

``pulumi plugin install --checksum`` is not used. It accepts an installed plugin of the same or a newer version from any
source, and ignores the checksum when Pulumi.yaml names the package (v3.250.0,
``pkg/cmd/pulumi/plugin/plugin_install.go``).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from longhaul.toolchain.cache import Progress, cache_root, locked, sha256_file
from longhaul.toolchain.download import Downloader, Received, UnreachableError
from longhaul.toolchain.errors import SetupError, from_os
from longhaul.toolchain.plugin_checksums import ChecksumFile, fetch_agreed
from longhaul.toolchain.plugin_executables import digest_in_archive
from longhaul.toolchain.plugin_sources import PluginSource, source_of
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import machine_arch

_STEP = 32 << 20
"""Bytes of a download between two lines about it."""


class UnavailableError(SetupError):
    """A plugin cannot be had now: a server cannot be reached, or nothing may be fetched. Nothing speaks against it."""


@dataclass(frozen=True, kw_only=True)
class PluginInstaller:
    """Installs plugins into the engine's home. One process at a time does so."""

    engine: Path
    checksums: ChecksumFile
    progress: Progress
    environ: Mapping[str, str] = field(default_factory=dict)
    """Variables of the engine, besides those of this process."""
    downloader: Downloader = field(default_factory=Downloader)
    offline: bool = False
    """True when no server may be asked."""
    only_listed: bool = False
    """True when a plugin without a checksum in the file is refused."""

    def install(
        self, plugins: Iterable[tuple[str, str]], *, installed: Callable[[str, str], bool] | None = None
    ) -> None:
        """Install packages, each at its version, in the place of what is there. Skip those that are ``installed`` once
        this process is the only one. Raise :class:`SetupError` when an archive is refused,
        :class:`UnavailableError` when it cannot be had; nothing of it is installed then."""
        try:
            with _work_folder(self.progress) as folder:
                for package, version in plugins:
                    if installed is None or not installed(package, version):
                        self._install(source_of(package), version, folder)
        except UnreachableError as error:
            raise UnavailableError(str(error)) from error
        except OSError as error:
            raise from_os(error, path=cache_root(), doing="installation of plugins") from error

    def _install(self, source: PluginSource, version: str, folder: Path) -> None:
        archive, sums = folder / source.archive(version, machine_arch()), self.checksums.read()
        executable, listed = source.executable(version, machine_arch()), sums.get(archive.name)
        if listed is None:
            agreed = self._take_first(source, version, archive)
            sums = {archive.name: agreed, executable: digest_in_archive(archive, source.binary)}
            why = f"GitHub and get.pulumi.com agree on its SHA-256, now in {self.checksums.path}: commit that file"
        else:
            archive = self._take_listed(source, version, listed, archive)
            why = f"its SHA-256 is the one in {self.checksums.path}"
            actual = digest_in_archive(archive, source.binary)
            if executable not in sums:
                why += ", which has that of its executable now, too: commit that file"
            elif sums[executable] != actual:
                raise SetupError(
                    f"{archive.name} has another executable than {self.checksums.path} says, so nothing was installed. "
                    "One of the plugin's two lines is wrong: `git log -p` of the file shows who wrote which"
                )
            sums = {executable: actual}
        # Before it is installed: a plugin that is there is not asked for again.
        self.checksums.add(sums)
        words = ("resource", source.package, version, "--file", str(archive), "--exact", "--reinstall")
        environ = {**self.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        output_of([str(self.engine), "plugin", "install", *words], env=environ)
        (folder / archive.name).unlink(missing_ok=True)
        self.progress(f"plugin {source.package} {version}: installed; {why}")

    def _take_first(self, source: PluginSource, version: str, archive: Path) -> str:
        """Fetch an archive that has no checksum yet. Return its checksum."""
        if self.offline or self.only_listed:
            words = f"{self.checksums.path} has no checksum of {archive.name}"
            raise UnavailableError(words) if self.offline else SetupError(f"{words}, so it is not installed")
        receiving = self._receiving(source, version)
        return fetch_agreed(
            source, version, machine_arch(), archive=archive, downloader=self.downloader, received=receiving
        )

    def _take_listed(self, source: PluginSource, version: str, expected: str, archive: Path) -> Path:
        """Return an archive with its checksum: the one that somebody put beside the cache, or the first that a server
        gives."""
        place = archives_folder() / archive.name
        if place.is_file():
            self._compare(str(place), sha256_file(place), expected, archive.name)
            return place
        if self.offline:
            raise UnavailableError(f"{archive.name} is not in {place.parent}")
        failures: list[str] = []
        for url in source.urls(version, machine_arch()):
            try:
                actual = self.downloader.receive(url, archive, received=self._receiving(source, version))
            except UnreachableError as error:
                failures.append(str(error))
                continue
            self._compare(url, actual, expected, archive.name)
            return archive
        raise UnreachableError("; ".join(failures))

    def _compare(self, place: str, actual: str, expected: str, name: str) -> None:
        if actual != expected:
            raise SetupError(
                f"{name}: the file at {place} is not the one in {self.checksums.path}, so nothing was installed.\n"
                f"  {expected}  says {self.checksums.path}\n"
                f"  {actual}  has the file at {place}\n"
                "Do not trust that file; if somebody has changed the line, `git log -p` shows who"
            )

    def _receiving(self, source: PluginSource, version: str) -> Received:
        """Return a function that reports the beginning of a download, and every further 32 MiB."""
        steps = [-1]

        def report(url: str, received: int, total: int | None) -> None:
            if received // _STEP > steps[0]:
                steps[0] = received // _STEP
                size = f" of {total >> 20}" if total else ""
                host = urlsplit(url).netloc
                self.progress(f"plugin {source.package} {version}: {received >> 20}{size} MiB from {host}")

        return report


def archives_folder() -> Path:
    """Return the folder in which archives are looked for before any server is asked."""
    return cache_root() / "plugins"


@contextmanager
def _work_folder(progress: Progress) -> Iterator[Path]:
    """Give an empty folder, which no other process has. A killed process leaves its content to the next."""
    folder = cache_root() / ".installing-plugins"
    with locked(
        cache_root() / ".plugins.lock", waiting=lambda: progress("plugins: another process installs some, waiting")
    ):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
