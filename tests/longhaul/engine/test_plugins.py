"""A command has the plugins that it lacks installed: the first run in a new home, and runs that cannot have them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from longhaul.engine.plugins import Plugin
from longhaul.terminal.exits import Exit
from longhaul.toolchain.plugin_checksums import ChecksumFile
from longhaul.toolchain.spec import machine_arch
from tests.longhaul.conftest import UP, Checkout, FakeEngine
from tests.support.plugin_servers import Answer, PluginServers, archive_of, sha256, urls_of
from tests.support.programs import write_program

PACKAGES = ("azure-native", "kubernetes")
"""Plugins of the environment ``dev``, whose one site is on Azure."""


@pytest.fixture(name="servers")
def _servers(checkout: Checkout, engine: FakeEngine, tmp_path: Path) -> Iterator[PluginServers]:
    """A home without plugins, and both servers."""
    shutil.rmtree(checkout.home / ".pulumi")
    with PluginServers(tmp_path / "authority") as servers:
        for package in PACKAGES:
            servers.publish(package, version(f"pulumi-{package}"))
        checkout.environ |= servers.environ()
        yield servers


def checksums(checkout: Checkout) -> dict[str, str]:
    return ChecksumFile(checkout.path / "stacks" / "plugins.sha256").read()


def archive_name(package: str) -> str:
    return f"pulumi-resource-{package}-v{version(f'pulumi-{package}')}-linux-{machine_arch()}.tar.gz"


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
    assert checksums(checkout) == {archive_name(package): sha256(archive_of(package)) for package in packages}
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
    name = archive_name("azure-native")
    ChecksumFile(checkout.path / "stacks" / "plugins.sha256").add({name: sha256(archive_of("azure-native"))})
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
    assert checksums(checkout) == {}
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
    assert checksums(checkout) == {}


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
