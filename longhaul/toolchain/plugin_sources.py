"""The releases of provider plugins that ``tools.toml`` lists, and their addresses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import repository, tools_document


@dataclass(frozen=True, kw_only=True)
class PluginSource:
    """A provider plugin in ``tools.toml``. The addresses of its archives are those that the engine itself tries
    (v3.250.0, ``sdk/go/common/workspace/plugins.go``: ``githubSource`` and ``getPulumiSource``)."""

    package: str
    repository: str
    """GitHub repository whose releases contain its archives."""

    @property
    def binary(self) -> str:
        """Return the name of the executable in an archive and in the engine's home."""
        return f"pulumi-resource-{self.package}"

    def archive(self, version: str, arch: str) -> str:
        """Return the name of an archive."""
        return f"{self.executable(version, arch)}.tar.gz"

    def executable(self, version: str, arch: str) -> str:
        """Return the name of an archive's executable in the file of checksums."""
        return f"{self.binary}-v{version}-linux-{arch}"

    def release(self, version: str) -> str:
        """Return the URL of GitHub's description of a release."""
        return f"https://api.github.com/repos/{self.repository}/releases/tags/v{version}"

    def mirror(self, version: str, arch: str) -> str:
        """Return the URL of an archive at get.pulumi.com."""
        return f"https://get.pulumi.com/releases/plugins/{self.archive(version, arch)}"

    def urls(self, version: str, arch: str) -> tuple[str, ...]:
        """Return all URLs of an archive, in the engine's order."""
        github = f"https://github.com/{self.repository}/releases/download/v{version}/{self.archive(version, arch)}"
        return github, self.mirror(version, arch)


def load_sources(path: Path | None = None) -> dict[str, PluginSource]:
    """Return the plugins of ``tools.toml`` by package. Raise :class:`SetupError` when that part of the file is
    invalid."""
    path = path or repository() / "tools.toml"
    raw = tools_document(path).get("plugin", {})
    try:
        return {name: PluginSource(package=name, repository=value["repository"]) for name, value in raw.items()}
    except KeyError as error:
        raise SetupError(f"{path}: a plugin has no key {error}") from error


def source_of(package: str) -> PluginSource:
    """Return the source of a package. Raise :class:`SetupError` when ``tools.toml`` has none."""
    sources = load_sources()
    if package not in sources:
        raise SetupError(f"tools.toml has no plugin {package}. It has: {', '.join(sources)}.")
    return sources[package]
