"""The pinned Go compiler, and building binaries with it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder
from longhaul.toolchain.errors import SetupError, ToolCommandError, disk_full, is_disk_full, is_network
from longhaul.toolchain.process import output_of, run_logged
from longhaul.toolchain.spec import Binary, Go, machine_arch

NO_DEBUG_SYMBOLS = "-gcflags=all=-dwarf=false"
"""The linker's ``-w`` leaves the debug symbols out, so the compiler need not make them (``go doc cmd/compile``,
``-dwarf``): for crane, that is 50 s of processor instead of 72, and a program of the same size."""
_C_FLAGS = ("CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS")
"""Variables with C compiler flags of the user, which a build ignores."""
_NO_REGISTRY = (
    "neither the official release nor a Go module registry can be reached. Connect this machine, or name a module "
    "proxy that it can reach (`go env -w GOPROXY=…`), and run it again."
)


class NoGoError(SetupError):
    """The machine has no Go at all."""


class NoCError(SetupError):
    """The machine has no C compiler."""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A Go compiler of exactly the pinned version."""

    go: Path

    def env(self, *, cgo: bool = False) -> dict[str, str]:
        """Return the environment variables of a build. Of the user's Go settings, only the registry and the caches
        apply."""
        return {
            **({"CC": "gcc", **dict.fromkeys(_C_FLAGS, "")} if cgo else {}),
            "PATH": f"{self.go.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "GOROOT": str(self.go.parent.parent),
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
            "GOWORK": "off",
            "GOEXPERIMENT": "",
            "GOOS": "linux",
            "GOARCH": machine_arch(),
            "CGO_ENABLED": "1" if cgo else "0",
        }


def find_compiler(pinned: Go, *, log: Path, progress: Progress) -> Compiler:
    """Return the machine's Go if it has the pinned version, otherwise use it to fetch the pinned version. Raise
    :class:`NoGoError` when the machine has none."""
    # The second path is from Go's own installation instructions; sudo's PATH lacks it.
    program = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if program is None:
        raise NoGoError(
            "there is no Go on this machine: install golang-go (any version will do, it fetches the pinned one)"
        )
    root = output_of([program, "env", "GOROOT"], env={"GOTOOLCHAIN": "local"}).strip()
    here = Path(root) / "bin" / "go"
    if _version(here) == f"go{pinned.version}":
        return Compiler(go=here)
    arch = machine_arch()
    if arch not in pinned.sums:
        raise SetupError(
            f"tools.toml: [go] has no `sums.{arch}`; add what `go mod download -json` says of golang.org/toolchain"
        )
    place = cache_root() / "go" / pinned.version / digest(pinned.sums[arch])
    ensure_folder(
        place,
        lambda into: _fetch(here, pinned, into=into, log=log, progress=progress),
        what=f"Go {pinned.version}",
        progress=progress,
    )
    return Compiler(go=place / "bin" / "go")


def _version(go: Path) -> str:
    """Return the third word of an output such as ``go version go1.26.8 linux/amd64``."""
    words = output_of([str(go), "version"], env={"GOTOOLCHAIN": "local"}).split()
    return words[2] if len(words) > 2 else ""


def _fetch(go: Path, pinned: Go, *, into: Path, log: Path, progress: Progress) -> None:
    """Lay the module golang.org/toolchain out, as the go command does itself from Go 1.21 on."""
    progress(f"Go {pinned.version}: fetching it with the machine's {_version(go)}")
    arch = machine_arch()
    module = f"golang.org/toolchain@v0.0.1-go{pinned.version}.linux-{arch}"
    env = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOWORK": "off", "GO111MODULE": "on"}
    try:
        answer = output_of([str(go), "mod", "download", "-json", module], cwd=into, env=env)
    except ToolCommandError as error:
        log.write_text(error.output, encoding="utf-8")
        raise explain(error, doing=f"Go {pinned.version}", where=into.parent) from error
    fetched = json.loads(answer)
    if fetched["Sum"] != pinned.sums[arch]:
        raise SetupError(
            f"Go {pinned.version}: {module} has the sum {fetched['Sum']}, tools.toml says {pinned.sums[arch]}"
        )
    shutil.copytree(fetched["Dir"], into, dirs_exist_ok=True, symlinks=True, copy_function=shutil.copyfile)
    for folder, _, files in os.walk(into):
        Path(folder).chmod(0o755)
        if "_go.mod" in files:
            shutil.copyfile(Path(folder) / "_go.mod", Path(folder) / "go.mod")
    for program in (*(into / "bin").iterdir(), *(into / "pkg" / "tool").rglob("*")):
        if program.is_file():
            program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def make_binary(binary: Binary, *, compiler: Compiler, modules_dir: Path, into: Path, log: Path) -> None:
    """Compile one binary, or copy it from its module, into the folder ``into``. Raise :class:`NoCError` when it needs a
    C compiler and there is none."""
    folder = modules_dir / binary.module
    what = f"building {binary.name}"
    target = into / binary.name
    try:
        if binary.file:
            shutil.copyfile(_file_in_module(binary.file, compiler=compiler, folder=folder, log=log), target)
            target.chmod(0o755)
            return
        if binary.cgo and shutil.which("gcc") is None:
            raise NoCError(f"{what}: there is no C compiler on this machine: install gcc and libc6-dev")
        flags = " ".join(("-s", "-w", *binary.ldflags))
        verb = ("test", "-vet=off", "-c") if binary.test else ("build",)
        argv = [*verb, NO_DEBUG_SYMBOLS, "-tags", ",".join(binary.tags), "-ldflags", flags, "-o", str(target)]
        argv.append(binary.package)
        run_logged([str(compiler.go), *argv], log=log, what=what, cwd=folder, env=compiler.env(cgo=binary.cgo))
    except ToolCommandError as error:
        raise explain(error, doing=what, where=into.parent) from error


def _file_in_module(file: str, *, compiler: Compiler, folder: Path, log: Path) -> Path:
    """Download the module that contains the file with this import path (checked against go.sum), and return the file's
    path."""
    go = str(compiler.go)
    listed = output_of([go, "list", "-m", "-f", "{{.Path}}", "all"], cwd=folder, env=compiler.env()).split()
    owners = [module for module in listed if file.startswith(module + "/")]
    if not owners:
        raise SetupError(f"{folder / 'go.mod'} requires no module that could hold {file}; correct `file` in tools.toml")
    module = max(owners, key=len)
    run_logged([go, "mod", "download", module], log=log, what=f"fetching {module}", cwd=folder, env=compiler.env())
    where = output_of([go, "list", "-m", "-f", "{{.Dir}}", module], cwd=folder, env=compiler.env()).strip()
    return Path(where) / file.removeprefix(module + "/")


def explain(error: ToolCommandError, *, doing: str, where: Path) -> SetupError:
    """Return the error with advice, if its cause is known; otherwise unchanged."""
    if is_disk_full(error.output):
        full = disk_full(where, doing=doing)
        return SetupError(
            f"{full}\n(Go's own caches, `go env GOCACHE GOMODCACHE`, and TMPDIR may lie elsewhere.)\n{error}"
        )
    if is_network(error.output):
        return SetupError(f"{doing}: {_NO_REGISTRY}\n{error}")
    return error
