"""Makes a root file system of an operating system with mmdebstrap, and fetches packages for it."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from longhaul.toolchain.cache import remove, require_space
from longhaul.toolchain.errors import SetupError, ToolCommandError, disk_full, is_disk_full, is_network
from longhaul.toolchain.operating_systems import OperatingSystem, operating_systems
from longhaul.toolchain.process import output_of, run_logged

OPTIONS = (
    "--variant=minbase",
    "--format=directory",
    # Manuals are not read inside a machine; they are a third of its size.
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)
_SPACE_MIB = 1000
"""Space for the packages, their archives and lists during the build, MiB."""
_PROXY = re.compile(r'Acquire::https?(::[^:" ]+)?::Proxy(-Auto-Detect)? ".+";')
_LIBRARY = re.compile(r"(/usr)?/lib(64)?(/[a-z0-9_]+-linux-gnu)?/[^/]+\.so(\.[0-9.]+)?")
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")


def debootstrap(into: Path, *, of: OperatingSystem, packages: Iterable[str], log: Path) -> None:
    """Make ``into/rootfs``, the system's minimal form with ``packages``. ``into/sources.list`` lists its archives:
    this machine's own, or mmdebstrap's for the suite.

    Raise :class:`SetupError` when that fails.
    """
    what = f"making the base image ({of.title}, {of.suite})"
    target = into / "rootfs"
    # On a full disk, apt does not fail but hangs forever.
    require_space(into, mib=_SPACE_MIB, doing=what)
    argv = ["mmdebstrap", *OPTIONS, *(f"--aptopt={line}" for line in _proxies()), f"--include={','.join(packages)}"]
    argv += [f"--components={','.join(of.components)}", *([f"--keyring={of.key}"] if of.key else [])]
    # It gets namespaces of its own, so that no process or mount outlives it: mmdebstrap and apt may hang when killed.
    unshare = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    argv = [*unshare, *argv, of.suite, str(target), *host_sources(of.suite)]
    try:
        run_logged(argv, log=log, what=what, env={"LC_ALL": "C.UTF-8"}, end=signal.SIGKILL)
    except ToolCommandError as error:
        raise _explain(error, what=what, target=target) from error
    (target / "etc/apt/sources.list").rename(into / "sources.list")
    tidy(target)


def download(base: Path, packages: Iterable[str], *, into: Path, log: Path, key: Path | None = None) -> None:
    """Put the archives (.deb) of ``packages`` and of their dependencies into the folder ``into``, except packages in
    the system that :func:`debootstrap` made in ``base``. Archives must be signed with ``key``, or with the keys in
    ``sources.list`` or this machine's apt.

    Use the host's apt, and write nowhere else. Raise :class:`SetupError` when that fails.
    """
    packages = tuple(packages)
    what = f"fetching packages ({' '.join(packages)})"
    scratch = into / "scratch"
    for folder in ("state/lists/partial", "cache/archives/partial", "etc"):
        (scratch / folder).mkdir(parents=True)
    config = scratch / "apt.conf"
    config.write_text("\n".join((*_apt_options(scratch, base=base, key=key), *_proxies())) + "\n", encoding="utf-8")
    for argv in (["apt-get", "-q", "update"], ["apt-get", "-q", "--yes", "--download-only", "install", *packages]):
        try:
            environment = {"APT_CONFIG": str(config), "LC_ALL": "C.UTF-8"}
            run_logged(argv, log=log, what=what, env=environment, end=signal.SIGKILL)
        except ToolCommandError as error:
            raise _explain(error, what=what, target=into) from error
    for archive in (scratch / "cache/archives").glob("*.deb"):
        archive.rename(into / archive.name)
    remove(scratch)


def _apt_options(scratch: Path, *, base: Path, key: Path | None) -> list[str]:
    options = {
        "Dir::State": scratch / "state",
        "Dir::State::status": base / "rootfs/var/lib/dpkg/status",
        "Dir::Cache": scratch / "cache",
        "Dir::Etc::sourcelist": base / "sources.list",
        # The host's own settings must not apply: they may contain hooks.
        **dict.fromkeys(("Dir::Etc::parts", "Dir::Etc::sourceparts", "Dir::Etc::preferencesparts"), scratch / "etc"),
        **dict.fromkeys(("Dir::Etc::main", "Dir::Etc::preferences"), "/dev/null"),
        "APT::Install-Recommends": "false",
        **({"Dir::Etc::trusted": key, "Dir::Etc::trustedparts": scratch / "etc"} if key else {}),
        # apt's own user for downloads cannot access a cache folder of root.
        "APT::Sandbox::User": "root",
    }
    return [f'{key} "{value}";' for key, value in options.items()]


def package_versions(root: Path) -> dict[str, str]:
    """Return every installed package of the system at ``root`` with its version."""
    lines = output_of(
        ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "-W", "-f=${Package} ${Version}\\n"]
    ).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def libraries(root: Path, packages: Iterable[str]) -> dict[str, Path]:
    """Return the shared libraries of packages in the system at ``root``, and the loader, by their path in a container
    image, such as ``lib64/ld-linux-x86-64.so.2``. Plugins, which are in deeper folders, are left out. Raise
    :class:`SetupError` when a package has no libraries."""
    paths: dict[str, Path] = {}
    for package in packages:
        lists = sorted((root / "var/lib/dpkg/info").glob(f"{package}*.list"))
        lines = [line for path in lists if path.stem.split(":")[0] == package for line in path.read_text().splitlines()]
        # With a merged /usr, packages list either /usr/lib or /lib; the loader is searched below /lib alone.
        of_package = {
            line.removeprefix("/usr").lstrip("/"): root / line.lstrip("/") for line in lines if _LIBRARY.fullmatch(line)
        }
        if not of_package:
            raise SetupError(f"{root} has no libraries of the package {package}; list it in `packages.bare`")
        paths |= {name: _followed(path, root=root) for name, path in of_package.items()}
    return paths


def _followed(path: Path, *, root: Path) -> Path:
    """Return the target of a link, resolved inside the system at ``root``."""
    while path.is_symlink():
        target = path.readlink()
        path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _explain(error: ToolCommandError, *, what: str, target: Path) -> SetupError:
    if is_disk_full(error.output):
        return SetupError(f"{disk_full(target.parent, doing=what)}\n{error}")
    if is_network(error.output):
        return SetupError(f"{what}: no archive can be reached. Connect this machine and run it again.\n{error}")
    return error


def tidy(root: Path) -> None:
    """Remove files that were copied from the host or only used for the build, and files that must differ between
    machines."""
    for name in (
        "etc/resolv.conf",
        "etc/hostname",
        "etc/apt/sources.list",
        "etc/apt/apt.conf.d/99mmdebstrap",
        "etc/dpkg/dpkg.cfg.d/99mmdebstrap",
        *(str(path.relative_to(root)) for path in (root / "etc/ssh").glob("ssh_host_*")),
    ):
        (root / name).unlink(missing_ok=True)
    for name in ("var/log", "var/lib/apt/lists", "var/cache/apt", "tmp", "root/.ansible", "run"):
        if not (root / name).is_dir():
            continue
        for entry in (root / name).iterdir():
            if entry.is_dir() and not entry.is_symlink():
                remove(entry)
            else:
                entry.unlink()
    # Empty: each machine makes its own, and no machine treats this boot as its first, at which systemd enables every
    # unit. It is a new file, since the old one may be a hard link into another system.
    (root / "etc/machine-id").unlink(missing_ok=True)
    (root / "etc/machine-id").touch(mode=0o644)


def host_sources(suite: str, *, etc: Path = Path("/etc")) -> list[str]:
    """Return the host's own archives of ``suite`` as lines for apt; empty when the host runs another suite, so that the
    default archives are used."""
    release = _fields((etc / "os-release").read_text(encoding="utf-8").splitlines(), separator="=")
    known = (
        system for system in operating_systems().values() if (system.id, system.suite) == (release.get("id"), suite)
    )
    of = next(known, None)
    if of is None or release.get("version_codename") != suite:
        return []
    files = sorted((etc / "apt" / "sources.list.d").glob("*")) if (etc / "apt" / "sources.list.d").is_dir() else []
    sources: list[str] = []
    for file in (etc / "apt" / "sources.list", *files):
        if file.suffix == ".sources":
            sources += _deb822(file.read_text(encoding="utf-8"), suite=suite, of=of)
        elif file.suffix == ".list" and file.is_file():
            sources += _one_line(file.read_text(encoding="utf-8"), suite=suite, of=of)
    return list(dict.fromkeys(sources))


def _wanted(suite: str, of: str, components: Iterable[str]) -> bool:
    """Return whether an archive is the distribution's own: other archives have suites or components with other
    names."""
    return suite in (of, f"{of}-updates", f"{of}-security", f"{of}/updates") and "main" in components


def _one_line(text: str, *, suite: str, of: OperatingSystem) -> Iterator[str]:
    for line in text.splitlines():
        match = _ONE_LINE.fullmatch(line.split("#")[0].strip())
        components = match["components"].split() if match else []
        if match and _wanted(match["suite"], suite, components):
            signed = re.search(r"signed-by=(/\S+)", match["options"] or "")
            yield _line(match["uri"], match["suite"], components, key=signed[1] if signed else "", of=of)


def _deb822(text: str, *, suite: str, of: OperatingSystem) -> Iterator[str]:
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = _fields(lines, separator=":")
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false"):
            continue
        key, components = fields.get("signed-by", ""), fields.get("components", "").split()
        for uri in fields.get("uris", "").split():
            for name in fields.get("suites", "").split():
                if _wanted(name, suite, components):
                    yield _line(uri, name, components, key=key if key.startswith("/") else "", of=of)


def _line(uri: str, suite: str, components: Iterable[str], *, key: str, of: OperatingSystem) -> str:
    taken = [name for name in of.components if name in components]
    return f"deb [signed-by={key or of.keyring}] {uri} {suite} {' '.join(taken)}"


def _fields(lines: Iterable[str], *, separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in lines if separator in line)
    return {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}


def _proxies() -> list[str]:
    """Return the proxy settings of the host's apt, if any."""
    if shutil.which("apt-config") is None:
        return []
    return [line for line in output_of(["apt-config", "dump"]).splitlines() if _PROXY.fullmatch(line)]
