"""Tools that are partly in C, and tools that are fetched only by name."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.toolchain import tools
from longhaul.toolchain.golang import NoCError
from longhaul.toolchain.spec import Spec
from tests.lab.test_tools import Bench


@pytest.fixture(name="bench")
def _bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(root=tmp_path, monkeypatch=monkeypatch)


@pytest.fixture(name="compilers")
def _compilers(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """C compilers that the machine has; none at first."""
    found: set[str] = set()
    which = shutil.which

    def look(name: str, path: str | None = None) -> str | None:
        return (name if name in found else None) if name == "gcc" else which(name, path=path)

    monkeypatch.setattr("longhaul.toolchain.golang.shutil.which", look)
    return found


def partly_c(bench: Bench) -> Spec:
    spec = bench.spec()
    (tool,) = spec.tools
    return replace(spec, tools=(replace(tool, binaries=(replace(tool.binaries[0], cgo=True),)),))


def built_with(bench: Bench) -> dict[str, str]:
    lines = (bench.root / "go-calls.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_c_is_compiled_where_a_tool_has_it_whatever_the_users_settings(bench: Bench, compilers: set[str]) -> None:
    compilers.add("gcc")
    bench.monkeypatch.setenv("CC", "tcc")
    bench.monkeypatch.setenv("CGO_CFLAGS", "-O0")
    bench.ensure(partly_c(bench))
    env = built_with(bench)
    assert (env["CGO_ENABLED"], env["CC"], env["CGO_CFLAGS"]) == ("1", "gcc", "")


def test_nothing_else_is_compiled_with_c(bench: Bench, compilers: set[str]) -> None:
    compilers.add("gcc")
    bench.ensure(bench.spec())
    assert built_with(bench)["CGO_ENABLED"] == "0"


def test_without_a_c_compiler_it_says_what_to_install(bench: Bench, compilers: set[str]) -> None:
    with pytest.raises(NoCError, match="building thing: there is no C compiler on this machine: install gcc and libc6"):
        tools.ensure(["thing"], log_dir=bench.root / "log", progress=bench.said.append, spec=partly_c(bench))
    assert bench.cached() == []


def test_a_c_compiler_is_installed_where_that_can_be_done(bench: Bench, compilers: set[str]) -> None:
    def ensure(spec: Spec) -> None:
        log, install = bench.root / "log", lambda: compilers.add("gcc")
        tools.ensure(["thing"], log_dir=log, progress=bench.said.append, spec=spec, install_c=install)

    ensure(bench.spec())
    assert not compilers, "only for who needs it"
    ensure(partly_c(bench))
    assert compilers
    assert len(bench.cached()) == 2, "it is another tool than without C"


def test_what_is_on_demand_is_got_by_name_alone_and_is_no_other_for_it(bench: Bench) -> None:
    spec = bench.spec()
    (tool,) = spec.tools
    on_demand = replace(tool, on_demand=True)
    asked = replace(spec, tools=(on_demand,))
    assert asked.select([]) == ()
    assert asked.select(["thing"]) == (on_demand,)
    assert tools.tool_dir(on_demand, spec=asked) == tools.tool_dir(tool, spec=spec)
