"""A command has the plugins that it lacks installed: the first run in a new home, and runs that cannot have them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from longhaul.engine.plugin_states import Plugin
from longhaul.terminal.exits import Exit
from longhaul.toolchain.spec import machine_arch
from tests.longhaul.conftest import UP, Checkout, FakeEngine
from tests.support.plugin_servers import EXECUTABLE, Answer, PluginServers, archive_of, sha256, urls_of
from tests.support.programs import write_program

PACKAGES = ("azure-native", "kubernetes")
"""Plugins of the environment ``dev``, whose one site is on Azure."""


@pytest.fixture(name="servers")
def _servers(checkout: Checkout, engine: FakeEngine, tmp_path: Path) -> Iterator[PluginServers]:
    """A home without plugins, and both servers."""
    shutil.rmtree(checkout.home / ".pulumi")
    checkout.checksums.path.unlink()
    with PluginServers(tmp_path / "authority") as servers:
        for package in PACKAGES:
            servers.publish(package, version(f"pulumi-{package}"))
        checkout.environ |= servers.environ()
        yield servers


def executable_name(package: str) -> str:
    return f"pulumi-resource-{package}-v{version(f'pulumi-{package}')}-linux-{machine_arch()}"


def archive_name(package: str) -> str:
    return f"{executable_name(package)}.tar.gz"


def lines_of(*packages: str) -> dict[str, str]:
    """Return the checksums of plugins' archives, and of the executables in them."""
    archives = {archive_name(package): sha256(archive_of(package)) for package in packages}
    return archives | {executable_name(package): sha256(EXECUTABLE) for package in packages}


@pytest.mark.parametrize(
    ("words", "packages"),
    [
        (("plan", "--raw", "--env", "dev"), PACKAGES[:1]),
        (("up", "--env", "dev", "--yes", "--only", "infrastructure"), PACKAGES[:1]),
        (("up", "--env", "dev", "--yes"), PACKAGES),
        (("doctor", "--env", "dev", "--only", "plugins"), PACKAGES),
    ],
)
def test_the_first_run_in_a_new_home_takes_them_once(
    words: tuple[str, ...], packages: tuple[str, ...], checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    checkout.environ["LONGHAUL_KUBECONFIG"] = "/given/kubeconfig"
    done = checkout.run(*words)
    assert checkout.checksums.read() == lines_of(*packages)
    for package in packages:
        assert (checkout.plugin(package) / f"pulumi-resource-{package}").exists()
        number = version(f"pulumi-{package}")
        assert done.stderr.count(f"plugin {package} {number}: installed; GitHub and get.pulumi.com agree") == 1
    asked = len(servers.asked)
    assert asked == 2 * len(packages)
    assert "agree" not in checkout.run(*words).stderr
    assert len(servers.asked) == asked


def test_a_colleague_needs_one_server_and_is_told_nothing_to_commit(
    checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    checkout.checksums.add(lines_of("azure-native"))
    done = checkout.run(*UP)
    assert "commit" not in done.stderr
    assert servers.asked == [urls_of("azure-native", version("pulumi-azure-native"))[1]]


@pytest.mark.parametrize("words", [("plan", "--raw"), ("up", "--yes"), ("doctor", "--only", "plugins")])
def test_servers_that_disagree_stop_every_command(
    words: tuple[str, ...], checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    servers.publish("azure-native", version("pulumi-azure-native"), mirrored=b"another")
    done = checkout.run(*words, "--env", "dev")
    assert done.returncode == Exit.FAILED
    assert "two servers disagree, so nothing was installed or written" in " ".join((done.stdout + done.stderr).split())
    assert checkout.checksums.read() == {}
    assert not checkout.plugin("azure-native").exists()
    assert {"preview", "up"}.isdisjoint(call["words"][0] for call in engine.calls())


def test_a_download_that_breaks_off_stops_up_and_not_plan(
    checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    mirror = urls_of("azure-native", version("pulumi-azure-native"))[2]
    servers.answers[mirror] = Answer(body=archive_of("azure-native"), sent=20)
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert "broke off after 20 of" in done.stderr
    assert "up" not in [call["words"][0] for call in engine.calls()]
    planned = checkout.run("plan", "--raw", "--env", "dev")
    assert planned.returncode == Exit.OK
    assert "broke off after 20 of" in planned.stderr
    assert "so a stand-in previews in its place" in planned.stderr
    assert checkout.checksums.read() == {}


def test_offline_asks_nobody(checkout: Checkout, engine: FakeEngine, servers: PluginServers) -> None:
    up = checkout.run(*UP, "--offline")
    assert up.returncode == Exit.FAILED
    assert "no server is asked" in up.stderr
    assert f"{checkout.path}/stacks/plugins.sha256" in up.stderr
    assert checkout.run("plan", "--raw", "--env", "dev", "--offline").returncode == Exit.OK
    doctor = checkout.run("doctor", "--env", "dev", "--only", "plugins", "--offline", "--json")
    finding = json.loads(doctor.stdout)["findings"][0]
    assert (finding["check"], finding["level"]) == ("plugins", "unknown")
    assert "on a machine that reaches both" in finding["do"]
    assert servers.asked == []


def test_an_example_is_planned_without_a_plugin(checkout: Checkout, engine: FakeEngine, servers: PluginServers) -> None:
    raw = checkout.environment()
    raw["sites"]["weu"]["subscription"] = "00000000-0000-4000-8000-000000000001"
    checkout.write(raw)
    assert checkout.run("plan", "--raw", "--env", "dev").returncode == Exit.OK
    assert servers.asked == []


def test_a_plugin_whose_installation_did_not_end_is_not_installed(tmp_path: Path) -> None:
    plugin = Plugin(package="aws", version="1.2.3")
    environ = {"PULUMI_HOME": str(tmp_path), "PATH": ""}
    folder = tmp_path / "plugins" / "resource-aws-v1.2.3"
    write_program(folder / plugin.binary, "#!/bin/sh\n")
    assert plugin.installed(environ)
    # As the engine leaves it (v3.250.0, pkg/pluginstorage/download.go).
    folder.with_name(f"{folder.name}.partial").touch()
    assert not plugin.installed(environ)


COMMANDS = [("plan", "--raw"), ("up", "--yes", "--only", "infrastructure"), ("doctor", "--only", "plugins")]


def text_of(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("words", COMMANDS)
def test_a_plugin_that_somebody_else_put_there_is_installed_anew(
    words: tuple[str, ...], checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    for package in PACKAGES:
        write_program(checkout.plugin(package) / f"pulumi-resource-{package}", "#!/bin/sh\necho another\n")
    done = checkout.run(*words, "--env", "dev")
    assert "was compared with no checksum, so it is installed anew" in text_of(done)
    assert (checkout.plugin("azure-native") / "pulumi-resource-azure-native").read_bytes() == EXECUTABLE
    assert "installed anew" not in text_of(checkout.run(*words, "--env", "dev"))


@pytest.mark.parametrize("words", COMMANDS)
def test_a_plugin_that_was_changed_is_not_run(
    words: tuple[str, ...], checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    checkout.run("doctor", "--only", "plugins", "--env", "dev")
    executable = checkout.plugin("azure-native") / "pulumi-resource-azure-native"
    executable.write_bytes(b"#!/bin/no\n")
    os.utime(executable, ns=(0, 0))
    asked = len(servers.asked)
    done = checkout.run(*words, "--env", "dev")
    assert done.returncode == Exit.FAILED
    assert f"{executable} is not the one in {checkout.checksums.path}, so nothing is run" in text_of(done)
    assert f"{sha256(executable.read_bytes())} has the file" in text_of(done)
    assert {"preview", "up"}.isdisjoint(call["words"][0] for call in engine.calls())
    assert len(servers.asked) == asked


def test_offline_a_plugin_from_elsewhere_is_not_run(
    checkout: Checkout, engine: FakeEngine, servers: PluginServers
) -> None:
    folder = checkout.plugin("azure-native")
    write_program(folder / "pulumi-resource-azure-native", "#!/bin/sh\n")
    up = checkout.run(*UP, "--offline")
    assert up.returncode == Exit.FAILED
    assert f"the one in {folder} was compared with no checksum" in up.stderr
    plan = checkout.run("plan", "--raw", "--env", "dev", "--offline")
    assert "was compared with no checksum, so a stand-in previews in its place" in plan.stderr


@pytest.mark.parametrize("suffix", ["+x", "v"])
def test_a_folder_that_the_engine_takes_for_the_plugin_s_is_refused(
    suffix: str, checkout: Checkout, engine: FakeEngine
) -> None:
    folder = checkout.plugin("azure-native")
    other = folder.with_name(f"{folder.name}+x" if suffix == "+x" else folder.name.replace("-v", "-vv"))
    shutil.copytree(folder, other)
    done = checkout.run(*UP)
    assert done.returncode == Exit.FAILED
    assert f"the engine would run the one in {other}" in done.stderr


def test_a_plugin_of_one_s_own_on_path_is_named(checkout: Checkout, engine: FakeEngine, tmp_path: Path) -> None:
    write_program(tmp_path / "own" / "pulumi-resource-azure-native", "#!/bin/sh\n")
    checkout.environ["PATH"] = os.pathsep.join((str(tmp_path / "own"), os.environ["PATH"]))
    assert "which is on PATH, and was compared with nothing" in text_of(
        checkout.run("doctor", "--env", "dev", "--only", "plugins")
    )
