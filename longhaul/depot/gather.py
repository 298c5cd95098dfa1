"""Fetches a depot's parts from their publishers into the cache. A repeated run continues an interrupted run.

Binaries come from the sources in ``tools.toml``, packages through the machine's own apt, images through crane.
Everything is checked: by the checksums in ``tools.toml`` and Go's sums, by a signed archive's checksums, and by images'
digests.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul.artifacts import image_pulls
from longhaul.artifacts.depot_content import DepotContent
from longhaul.artifacts.image_contents import ContainerImage
from longhaul.artifacts.image_pulls import Pulled
from longhaul.artifacts.layout import DepotParts, build_image, fill
from longhaul.artifacts.manifest import DepotReport, seal, verify
from longhaul.artifacts.oci import Image
from longhaul.toolchain import archive, debian, tools
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, remove, require_space, sha256_file
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import Spec, machine_arch

_LAYOUT = 1
"""Version of the cached form. Raise it when the code below stores different packages under the same names."""
_PACKAGES_MIB = 600
"""Space for packages and apt's lists while they are fetched, MiB."""
_SPARE_MIB = 200


@dataclass(frozen=True, kw_only=True)
class DepotSources:
    """Sources of the parts, and the function that shows progress."""

    spec: Spec
    log_dir: Path
    progress: Progress
    archives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Lines of a ``sources.list`` by suite. A missing suite uses the machine's own sources."""
    refresh: bool = False
    """True to ask archives again for cached packages."""


def gather(wanted: DepotContent, sources: DepotSources) -> DepotParts:
    """Fetch every part into the cache and return them. Raise :class:`SetupError` when a part cannot be fetched."""
    binaries = _tools(wanted.tools, sources) if wanted.tools else {}
    archives = {}
    for suite in wanted.suites:
        extra = (name for of, name in wanted.extra if of == suite)
        archives[suite] = _archive(suite, [*wanted.packages, *extra], sources)
    return DepotParts(
        binaries=binaries,
        archives=archives,
        images=[_made(image, archives[wanted.suites[0]], sources) for image in wanted.made],
        pulled=_pulled(wanted, sources),
    )


def assemble(
    into: Path,
    wanted: DepotContent,
    parts: DepotParts,
    sources: DepotSources,
    *,
    sign: Callable[[Path], None] | None = None,
) -> DepotReport:
    """Fill the folder with the parts, seal it, and verify all of it. Raise :class:`SetupError` when it is damaged."""
    need = sum(path.stat().st_size for path in _sources_of(parts)) >> 20
    require_space(into, mib=need + _SPARE_MIB, doing="laying out the depot")
    sources.progress(f"laying out {need} MiB")
    # Copies, although links would be faster: changes to the depot must not change the cache.
    fill(into, parts, place=_copy, spec=sources.spec)
    seal(into, _about(into, wanted, parts, sources), sign=sign)
    report = verify(into)
    if not report.good:
        lines = "\n".join(f"  {problem.path}: {problem.message}" for problem in report.problems)
        raise SetupError(f"the depot is not laid out correctly; the cache or the disk is damaged:\n{lines}")
    return report


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)


def _sources_of(parts: DepotParts) -> list[Path]:
    files = [*parts.binaries.values(), *(image.binary for image in parts.images)]
    for folder in (*parts.archives.values(), *(pulled.layout for pulled in parts.pulled)):
        files += [path for path in folder.rglob("*") if path.is_file()]
    return files


def _tools(names: Sequence[str], sources: DepotSources) -> dict[str, Path]:
    binaries = tools.ensure(names, log_dir=sources.log_dir, progress=sources.progress, spec=sources.spec)
    for name, path in binaries.items():
        if sha256_file(path) != _note(path)["sha256"][name]:
            raise SetupError(f"{path} was changed since it was fetched: remove {path.parent} and run it again")
    return binaries


def _note(path: Path) -> dict[str, Any]:
    note: dict[str, Any] = json.loads((path.parent / "tool.json").read_text(encoding="utf-8"))
    return note


def _archive(suite: str, names: Sequence[str], sources: DepotSources) -> Path:
    """Return a folder of packages with all dependencies, even packages that are installed on this machine: another
    machine may lack them."""
    lines = sources.archives.get(suite) or tuple(debian.host_sources(suite))
    if not lines:
        raise SetupError(
            f"this machine has no archives of {suite} in its own sources: write a sources.list for it (`deb "
            f"[signed-by=/path/of/keyring] URL {suite} main`, a line for each archive) and name it, "
            f"--sources {suite}=FILE"
        )
    if shutil.which("apt-get") is None:
        raise SetupError(
            "this machine has no apt-get, which fetches packages: fill the depot on a machine with Debian or Ubuntu"
        )
    place = cache_root() / "archives" / digest(_LAYOUT, suite, sorted(names), sorted(lines), machine_arch())
    if sources.refresh:
        remove(place)

    def make(into: Path) -> None:
        require_space(into, mib=_PACKAGES_MIB, doing=f"fetching packages of {suite}")
        sources.progress(f"packages of {suite}: fetching {len(names)} and all they need")
        base = into / "base"
        (base / "rootfs/var/lib/dpkg").mkdir(parents=True)
        (base / "rootfs/var/lib/dpkg/status").touch()
        (base / "sources.list").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        debian.download(base, names, into=into, log=sources.log_dir / f"depot-{suite}.log")
        remove(base)
        archive.index(into, suite=suite, arch=machine_arch())

    ensure_folder(place, make, what=f"packages of {suite}", progress=sources.progress)
    return place


def _made(wanted: ContainerImage, packages: Path, sources: DepotSources) -> Image:
    binary = _tools([wanted.tool], sources)[wanted.tool]
    libraries = _libraries(wanted.libraries, packages, sources) if wanted.libraries else {}
    return build_image(wanted, binary=binary, libraries=libraries, spec=sources.spec)


def _libraries(names: Sequence[str], packages: Path, sources: DepotSources) -> dict[str, Path]:
    """Unpack cached packages, and return their libraries."""
    place = cache_root() / "libraries" / digest(_LAYOUT, packages.name, sorted(names))

    def make(into: Path) -> None:
        info = into / "var/lib/dpkg/info"
        for name in names:
            debs = sorted(packages.glob(f"{name}_*.deb"))
            if not debs:
                raise SetupError(f"{packages} has no package {name}, whose libraries an image needs")
            output_of(["dpkg-deb", "--extract", str(debs[-1]), str(into)])
            info.mkdir(parents=True, exist_ok=True)
            listed = output_of(["dpkg-deb", "--contents", str(debs[-1])])
            paths = re.findall(r" \.(/\S+?)(?: -> .*)?$", listed, re.MULTILINE)
            (info / f"{name}.list").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")

    ensure_folder(place, make, what="libraries for images", progress=sources.progress)
    return debian.libraries(place, names)


def _pulled(wanted: DepotContent, sources: DepotSources) -> list[Pulled]:
    if not wanted.pulls:
        return []
    crane = _tools(["crane"], sources)["crane"]
    log = sources.log_dir / "depot-images.log"
    return [
        image_pulls.pull(pull, crane=crane, arch=machine_arch(), log=log, progress=sources.progress)
        for pull in wanted.pulls
    ]


def _about(into: Path, wanted: DepotContent, parts: DepotParts, sources: DepotSources) -> dict[str, Any]:
    versions = {binary.name: tool.version for tool in sources.spec.tools for binary in tool.binaries}
    pulled = {image.name for image in parts.pulled}
    return {
        "environment": wanted.environment,
        "sites": list(wanted.sites),
        "architecture": machine_arch(),
        "binaries": [
            {"name": name, "version": versions[name], "source": _note(path)["source"]}
            for name, path in sorted(parts.binaries.items())
        ],
        "packages": {suite: archive.versions(folder) for suite, folder in sorted(parts.archives.items())},
        "images": [
            {"name": name, "digest": known, "source": "pulled" if name in pulled else "made"}
            for name, known in sorted(image_pulls.images_of(into / "images"))
        ],
    }
