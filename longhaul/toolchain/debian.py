"""A Debian root file system, made by mmdebstrap."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from longhaul.toolchain.cache import remove, require_space
from longhaul.toolchain.errors import CommandError, SetupError, disk_full, is_disk_full, is_network
from longhaul.toolchain.process import output_of, run_logged

OPTIONS = (
    "--variant=minbase",
    "--format=directory",
    # Nobody reads manuals inside a machine; they are a third of it.
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)
_SPACE_MIB = 1000
"""What the packages, their archives and lists take while it is made."""
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PROXY = re.compile(r'Acquire::https?(::[^:" ]+)?::Proxy(-Auto-Detect)? ".+";')
_LIBRARY = re.compile(r"(/usr)?/lib(64)?(/[a-z0-9_]+-linux-gnu)?/[^/]+\.so(\.[0-9.]+)?")
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")


def debootstrap(into: Path, *, suite: str, packages: Iterable[str], log: Path) -> None:
    """Make ``into/rootfs``, the suite's minimal system and ``packages``; ``into/sources.list`` names its archives.

    Raises :class:`SetupError`.
    """
    what = f"making the base image (Debian {suite})"
    target = into / "rootfs"
    # apt does not fail on a full disk, it stops for good.
    require_space(into, mib=_SPACE_MIB, doing=what)
    argv = ["mmdebstrap", *OPTIONS, *(f"--aptopt={line}" for line in _proxies()), f"--include={','.join(packages)}"]
    # In namespaces of its own, so that no process or mount of it outlives it: mmdebstrap and apt may hang when killed.
    unshare = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    argv = [*unshare, *argv, suite, str(target), *host_sources(suite)]
    try:
        run_logged(argv, log=log, what=what, env={"LC_ALL": "C.UTF-8"}, end=signal.SIGKILL)
    except CommandError as error:
        raise _explain(error, what=what, target=target) from error
    (target / "etc/apt/sources.list").rename(into / "sources.list")
    tidy(target)


def download(base: Path, packages: Iterable[str], *, into: Path, log: Path) -> None:
    """Put into the folder ``into`` the archives (.deb) of ``packages`` and of all they need beyond what is installed in
    the system that :func:`debootstrap` made in ``base``.

    Uses the host's apt, and writes nowhere else. Raises :class:`SetupError`.
    """
    packages = tuple(packages)
    what = f"fetching packages ({' '.join(packages)})"
    scratch = into / "scratch"
    for folder in ("state/lists/partial", "cache/archives/partial", "etc"):
        (scratch / folder).mkdir(parents=True)
    config = scratch / "apt.conf"
    config.write_text("\n".join((*_apt_options(scratch, base=base), *_proxies())) + "\n", encoding="utf-8")
    for argv in (["apt-get", "-q", "update"], ["apt-get", "-q", "--yes", "--download-only", "install", *packages]):
        try:
            environment = {"APT_CONFIG": str(config), "LC_ALL": "C.UTF-8"}
            run_logged(argv, log=log, what=what, env=environment, end=signal.SIGKILL)
        except CommandError as error:
            raise _explain(error, what=what, target=into) from error
    for archive in (scratch / "cache/archives").glob("*.deb"):
        archive.rename(into / archive.name)
    remove(scratch)


def _apt_options(scratch: Path, *, base: Path) -> list[str]:
    options = {
        "Dir::State": scratch / "state",
        "Dir::State::status": base / "rootfs/var/lib/dpkg/status",
        "Dir::Cache": scratch / "cache",
        "Dir::Etc::sourcelist": base / "sources.list",
        # The host's own settings are for the host: they may name hooks.
        **dict.fromkeys(("Dir::Etc::parts", "Dir::Etc::sourceparts", "Dir::Etc::preferencesparts"), scratch / "etc"),
        **dict.fromkeys(("Dir::Etc::main", "Dir::Etc::preferences"), "/dev/null"),
        "APT::Install-Recommends": "false",
        # apt's own user for downloads cannot reach a folder of root's cache.
        "APT::Sandbox::User": "root",
    }
    return [f'{key} "{value}";' for key, value in options.items()]


def package_versions(root: Path) -> dict[str, str]:
    """Every installed package of the system at ``root`` with its version."""
    lines = output_of(
        ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "-W", "-f=${Package} ${Version}\\n"]
    ).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def libraries(root: Path, packages: Iterable[str]) -> dict[str, Path]:
    """The shared libraries of packages that the system at ``root`` has, and the loader, by where a system of their own
    has them, such as ``lib64/ld-linux-x86-64.so.2``. Plugins, which lie deeper, are not among them. Raises
    :class:`SetupError` where a package has none."""
    found: dict[str, Path] = {}
    for package in packages:
        lists = sorted((root / "var/lib/dpkg/info").glob(f"{package}*.list"))
        lines = [line for path in lists if path.stem.split(":")[0] == package for line in path.read_text().splitlines()]
        # Where /usr/lib and /lib are one, packages say either; the loader is looked for below /lib alone.
        of_package = {
            line.removeprefix("/usr").lstrip("/"): root / line.lstrip("/") for line in lines if _LIBRARY.fullmatch(line)
        }
        if not of_package:
            raise SetupError(f"{root} has no libraries of the package {package}; list it in `packages.bare`")
        found |= {name: _followed(path, root=root) for name, path in of_package.items()}
    return found


def _followed(path: Path, *, root: Path) -> Path:
    """The file that a link in the system at ``root`` leads to there."""
    while path.is_symlink():
        target = path.readlink()
        path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _explain(error: CommandError, *, what: str, target: Path) -> SetupError:
    if is_disk_full(error.output):
        return SetupError(f"{disk_full(target.parent, doing=what)}\n{error}")
    if is_network(error.output):
        return SetupError(f"{what}: no Debian archive can be reached. Connect this machine and run it again.\n{error}")
    return error


def tidy(root: Path) -> None:
    """Take out what was copied from the host or served to make the system, and what must differ between machines."""
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
    # Empty: each machine makes its own, and no machine takes it for a first boot, at which systemd enables every unit.
    # A new file: the old one may be a hard link into another system.
    (root / "etc/machine-id").unlink(missing_ok=True)
    (root / "etc/machine-id").touch(mode=0o644)


def host_sources(suite: str, *, etc: Path = Path("/etc")) -> list[str]:
    """The host's own archives of ``suite`` as lines for apt; none when the host is of another (use the default)."""
    release = _fields((etc / "os-release").read_text(encoding="utf-8").splitlines(), separator="=")
    if (release.get("id"), release.get("version_codename")) != ("debian", suite):
        return []
    files = sorted((etc / "apt" / "sources.list.d").glob("*")) if (etc / "apt" / "sources.list.d").is_dir() else []
    found: list[str] = []
    for file in (etc / "apt" / "sources.list", *files):
        if file.suffix == ".sources":
            found += _deb822(file.read_text(encoding="utf-8"), suite=suite)
        elif file.suffix == ".list" and file.is_file():
            found += _one_line(file.read_text(encoding="utf-8"), suite=suite)
    return list(dict.fromkeys(found))


def _wanted(suite: str, of: str, components: Iterable[str]) -> bool:
    """Whether it is Debian's own archive: others have suites or components of other names."""
    return suite in (of, f"{of}-updates", f"{of}-security", f"{of}/updates") and "main" in components


def _one_line(text: str, *, suite: str) -> Iterator[str]:
    for line in text.splitlines():
        match = _ONE_LINE.fullmatch(line.split("#")[0].strip())
        if match and _wanted(match["suite"], suite, match["components"].split()):
            signed = re.search(r"signed-by=(/\S+)", match["options"] or "")
            yield _line(match["uri"], match["suite"], key=signed[1] if signed else _KEYRING)


def _deb822(text: str, *, suite: str) -> Iterator[str]:
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = _fields(lines, separator=":")
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false"):
            continue
        key = fields.get("signed-by", "")
        for uri in fields.get("uris", "").split():
            for name in fields.get("suites", "").split():
                if _wanted(name, suite, fields.get("components", "").split()):
                    yield _line(uri, name, key=key if key.startswith("/") else _KEYRING)


def _line(uri: str, suite: str, *, key: str) -> str:
    return f"deb [signed-by={key}] {uri} {suite} main"


def _fields(lines: Iterable[str], *, separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in lines if separator in line)
    return {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}


def _proxies() -> list[str]:
    """How the host's apt reaches its archives, where it needs a proxy for that."""
    if shutil.which("apt-config") is None:
        return []
    return [line for line in output_of(["apt-config", "dump"]).splitlines() if _PROXY.fullmatch(line)]
