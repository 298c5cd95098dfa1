"""Pinned tools of ``tools.toml`` for the lab: :mod:`longhaul.toolchain.tools`, with compilers installed when needed.

From Python: :func:`ensure` and :func:`bin_dir`. From a shell::

    python3 -m lab.tools ensure [NAME…]     # NAME: a tool, a binary or a release of tools.toml; without it, all tools;
                                            # RELEASE@VERSION: another of its pinned versions
    python3 -m lab.tools list [--json]
    python3 -m lab.tools bin-dir
    .venv/bin/python -m lab.tools plugins [PACKAGE…]        # installs the engine's provider plugins, by the checksums
                                                            # in stacks/plugins.sha256 alone
    .venv/bin/python -m lab.tools pin-plugins [PACKAGE…]    # writes their checksums for all architectures there

The module needs only Python 3.11, because it runs before there is a virtual environment. The plugin commands need the
virtual environment: plugins have the versions of its SDKs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

from contract.project import PLUGIN_CHECKSUMS, STACKS
from lab import packages
from longhaul.toolchain import tools
from longhaul.toolchain.cache import Progress
from longhaul.toolchain.download import Downloader, UnreachableError
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.plugin_checksums import ARCHES, ChecksumFile, fetch_agreed
from longhaul.toolchain.plugin_executables import digest_in_archive
from longhaul.toolchain.plugin_sources import PluginSource, load_sources, source_of
from longhaul.toolchain.plugins import PluginInstaller
from longhaul.toolchain.spec import Spec, load, repository
from longhaul.toolchain.tools import bin_dir, listing, tool_dir

__all__ = ["bin_dir", "ensure", "listing", "tool_dir"]


def ensure(
    names: Iterable[str] = (), *, log_dir: Path, progress: Progress, spec: Spec | None = None
) -> dict[str, Path]:
    """Provide tools like :func:`longhaul.toolchain.tools.ensure`; also install a missing compiler, which only root can
    do."""
    return tools.ensure(
        names,
        log_dir=log_dir,
        progress=progress,
        spec=spec,
        install_go=lambda: packages.ensure(packages.GO, log_dir=log_dir, progress=progress),
        install_c=lambda: packages.ensure(packages.C, log_dir=log_dir, progress=progress),
    )


def main(argv: list[str] | None = None) -> int:
    """Run the command line of this module."""
    parser = argparse.ArgumentParser(prog="python3 -m lab.tools", description="The pinned tools of tools.toml.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    get = verbs.add_parser("ensure", help="fetch or build what is not cached")
    get.add_argument("names", nargs="*", metavar="NAME", help="a tool, a binary or a release; all of them without")
    get.add_argument("--log-dir", type=Path, default=repository() / ".lab" / "log", help="default: .lab/log")
    show = verbs.add_parser("list", help="what there is")
    show.add_argument("--json", action="store_true", help="for programs")
    verbs.add_parser("bin-dir", help="print the folder for PATH")
    for verb, text in (
        ("plugins", f"install the engine's provider plugins whose checksums {STACKS}/{PLUGIN_CHECKSUMS} has"),
        ("pin-plugins", "write the checksums of provider plugins there, where two servers agree on them"),
    ):
        verbs.add_parser(verb, help=text).add_argument(
            "packages", nargs="*", metavar="PACKAGE", help="aws, for instance; all of tools.toml without"
        )
    args = parser.parse_args(argv)
    run: dict[str, Callable[[], None]] = {
        "ensure": lambda: _print_paths(_named(args.names, log_dir=args.log_dir)),
        "list": lambda: _print_listing(as_json=args.json),
        "bin-dir": lambda: print(bin_dir()),
        "plugins": lambda: _install_plugins(args.packages),
        "pin-plugins": lambda: _pin_plugins(args.packages),
    }
    try:
        run[args.verb]()
    except (SetupError, UnreachableError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _named(names: list[str], *, log_dir: Path) -> dict[str, Path]:
    words = [name.partition("@") for name in names]
    spec = load(versions={name: version for name, _, version in words if version})
    return ensure([name for name, _, _ in words], log_dir=log_dir, progress=_say, spec=spec)


def _install_plugins(packages: list[str]) -> None:
    engine = ensure(["pulumi"], log_dir=repository() / ".lab" / "log", progress=_say)["pulumi"]
    # As the command does: without a name the engine's home is not the one in HOME.
    environ = {"PULUMI_HOME": os.environ.get("PULUMI_HOME") or str(Path.home() / ".pulumi")}
    installer = PluginInstaller(engine=engine, checksums=_checksums(), progress=_say, environ=environ, only_listed=True)
    installer.install([(source.package, version) for source, version in _plugins(packages)])


def _pin_plugins(packages: list[str]) -> None:
    downloader = Downloader()
    for source, version in _plugins(packages):
        with tempfile.TemporaryDirectory(prefix="longhaul-plugins-") as folder:
            sums: dict[str, str] = {}
            for arch in ARCHES:
                archive = Path(folder, source.archive(version, arch))
                sums[archive.name] = fetch_agreed(source, version, arch, archive=archive, downloader=downloader)
                sums[source.executable(version, arch)] = digest_in_archive(archive, source.binary)
        _checksums().add(sums)
        _say(f"plugin {source.package} {version}: GitHub and get.pulumi.com agree; written into {_checksums().path}")


def _checksums() -> ChecksumFile:
    return ChecksumFile(repository() / STACKS / PLUGIN_CHECKSUMS)


def _plugins(packages: list[str]) -> list[tuple[PluginSource, str]]:
    """Return the sources of packages, each with the version of the SDK that is installed here."""
    chosen: list[tuple[PluginSource, str]] = []
    for package in packages or load_sources():
        try:
            chosen.append((source_of(package), metadata.version(f"pulumi-{package}")))
        except metadata.PackageNotFoundError as error:
            raise SetupError(
                f"this Python has no pulumi-{package}: run `lab/bootstrap.sh`, then .venv/bin/python -m lab.tools"
            ) from error
    return chosen


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print_paths(paths: dict[str, Path]) -> None:
    for name, path in paths.items():
        print(f"{name} {path}")


def _print_listing(*, as_json: bool) -> None:
    rows = listing()
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(f"{row['tool']:<26} {row['version']:<10} {row.get('source', 'not here yet')}")


if __name__ == "__main__":
    sys.exit(main())
