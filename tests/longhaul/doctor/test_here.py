"""Checks that need no account: this machine, the racks, the state."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from clouds.azure.doctor import durations
from clouds.base import local_machine
from clouds.base.findings import Finding, NotAskedError, Severity
from clouds.onprem.doctor import gateways
from components.model.hosts.section import Host
from longhaul.doctor import control_plane_size as size_checks
from longhaul.doctor import engine_state, this_machine
from longhaul.doctor import hosts as host_checks
from longhaul.doctor.target import DoctorTarget
from longhaul.engine.backend import Backend
from tests.longhaul.doctor.world import FILE, raw_environment, severities, share, target

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
URL = "https://management.azure.com"


def here(**ways: Any) -> local_machine.LocalMachine:
    usual: dict[str, Any] = {
        "resolve": lambda name: [name],
        "date": lambda url: format_datetime(NOW, usegmt=True),
        "now": lambda: NOW,
        "proxied": lambda url: False,
    }
    return local_machine.LocalMachine(**{**usual, **ways})


@pytest.mark.parametrize(
    ("behind", "severity", "words"),
    [
        (timedelta(0), Severity.OK, "agrees"),
        (timedelta(seconds=60), Severity.OK, "agrees"),
        (timedelta(seconds=62), Severity.WARNING, "62 s behind"),
        (timedelta(seconds=-63), Severity.WARNING, "62 s ahead of"),
        (timedelta(minutes=-6), Severity.PROBLEM, "359 s ahead of"),
        (timedelta(minutes=6), Severity.PROBLEM, "360 s behind"),
    ],
)
def test_the_clock_is_compared_with_the_clouds(behind: timedelta, severity: Severity, words: str) -> None:
    (found,) = local_machine.clock(here(date=lambda url: format_datetime(NOW + behind, usegmt=True)), URL)
    assert found.severity is severity
    assert words in found.what


@pytest.mark.parametrize(
    ("nodes", "severity", "keys"),
    [
        (100, Severity.OK, {"control_plane.api"}),
        (3_000, Severity.WARNING, {"control_plane.api.machine_type"}),
        (7_500, Severity.WARNING, {"control_plane.api.machine_type", "control_plane.api.servers"}),
    ],
)
def test_api_servers_are_held_against_the_declared_nodes(nodes: int, severity: Severity, keys: set[str]) -> None:
    raw = raw_environment() | {"max_nodes": nodes}
    raw["control_plane"]["api"] |= {"servers": 2, "machine_type": "Standard_D8s_v5"}
    found = list(size_checks.size(target(raw)))
    assert {one.severity for one in found} == {severity}
    assert {one.where[0].split(" in ")[0] for one in found} == keys


def test_a_slow_answer_is_no_wrong_clock() -> None:
    times = iter((NOW - timedelta(minutes=10), NOW + timedelta(minutes=10)))
    (found,) = local_machine.clock(here(now=lambda: next(times)), URL)
    assert found.severity is Severity.OK


def test_an_answer_without_a_date_tells_no_time() -> None:
    with pytest.raises(NotAskedError, match="without a date"):
        list(local_machine.clock(here(date=lambda url: ""), URL))


def failing(code: int) -> Callable[[str], object]:
    def resolve(name: str) -> object:
        raise socket.gaierror(code, "it says")

    return resolve


def test_every_name_that_is_needed_is_looked_up() -> None:
    asked: list[str] = []
    (found,) = this_machine.dns(target(), here(resolve=asked.append))
    assert found.what == "6 names of the clouds have addresses"
    assert {"management.azure.com", "login.microsoftonline.com", "ec2.us-east-1.amazonaws.com"} <= set(asked)


def test_a_name_without_an_address_is_a_problem() -> None:
    found = list(this_machine.dns(target(), here(resolve=failing(socket.EAI_NONAME))))
    assert {finding.severity for finding in found} == {Severity.PROBLEM}
    assert found[0].where == (f"sites.weu in {FILE}",)


def test_no_name_server_and_a_proxy_leave_it_unknown() -> None:
    silent = this_machine.dns(target(), here(resolve=failing(socket.EAI_AGAIN)))
    proxied = this_machine.dns(target(), here(proxied=lambda url: True, resolve=failing(socket.EAI_NONAME)))
    assert {finding.severity for finding in (*silent, *proxied)} == {Severity.UNKNOWN}


def test_gateways_need_public_addresses_and_pinned_keys() -> None:
    raw = raw_environment()
    gateway = raw["sites"]["rack"]["gateways"][0]
    gateway["public_address"] = "203.0.113.10"
    del gateway["host_key"]
    address, key = gateways(share("onprem", raw))
    assert address.severity is Severity.PROBLEM
    assert address.where == (f"sites.rack.gateways.0.public_address in {FILE}",)
    assert key.severity is Severity.WARNING
    assert severities(list(gateways(share("onprem", raw, lab=True))))[0][0] == "ok"
    assert {finding.severity for finding in gateways(share("onprem"))} == {Severity.OK}


def test_hosts_without_a_pinned_key_are_counted() -> None:
    looked_at = target()
    hosts = tuple(Host(name=f"gpu-{index}", site="rack") for index in range(5))
    pinned = hosts[0].model_copy(update={"host_key": "ssh-ed25519 AAAA"})
    environment = looked_at.environment.model_copy(update={"hosts": (pinned, *hosts[1:])})
    (found,) = host_checks.hosts(with_environment(looked_at, environment))
    assert "4 of 5 hosts have no pinned host key" in found.what
    assert found.what.endswith("gpu-1, gpu-2, gpu-3 and 1 more")
    assert found.where[0] == "hosts.1.host_key in stacks/hosts.dev.yaml"
    assert [finding.severity for finding in host_checks.hosts(looked_at)] == [Severity.OK]


def with_environment(looked_at: DoctorTarget, environment: Any) -> DoctorTarget:
    from dataclasses import replace

    return replace(looked_at, environment=environment)


@pytest.mark.parametrize(
    ("more", "severity", "words"),
    [
        ({}, Severity.PROBLEM, "no backend is chosen"),
        ({"environ": {"PULUMI_ACCESS_TOKEN": "made-up"}}, Severity.OK, "Pulumi's service"),
        ({"backend": Backend(url="file:///state")}, Severity.WARNING, "a folder of this machine"),
        ({"backend": Backend(url="file:///state"), "lab": True}, Severity.OK, "file:///state"),
        ({"backend": Backend(url="azblob://state?storage_account=x")}, Severity.OK, "azblob://state"),
        ({"backend": Backend(url="s3://me:secret@bucket/a?region=x")}, Severity.OK, "s3://bucket/a"),
    ],
)
def test_where_the_state_is(more: dict[str, Any], severity: Severity, words: str) -> None:
    (found,) = engine_state.backend(target(**more))
    assert found.severity is severity
    assert words in found.what
    assert "secret" not in found.what


@pytest.mark.parametrize(
    ("stack", "environ", "severity"),
    [
        ({"secretsprovider": "azurekeyvault://v.vault.azure.net/keys/pulumi"}, {}, Severity.OK),
        ({"secretsprovider": "passphrase"}, {}, Severity.PROBLEM),
        ({"encryptionsalt": "v1:x"}, {}, Severity.PROBLEM),
        ({"encryptionsalt": "v1:x"}, {"PULUMI_CONFIG_PASSPHRASE": ""}, Severity.OK),
        ({}, {"PULUMI_CONFIG_PASSPHRASE_FILE": "/secret"}, Severity.OK),
        ({}, {}, Severity.PROBLEM),
    ],
)
def test_what_encrypts_the_state(stack: dict[str, str], environ: dict[str, str], severity: Severity) -> None:
    (found,) = engine_state.encryption(target(stack=stack, environ=environ))
    assert found.severity is severity


def test_only_what_there_is_takes_long() -> None:
    gateway, roles = durations(share("azure"))
    assert "half an hour" in gateway.what
    assert "ten minutes" in roles.what
    alone = raw_environment()
    alone["sites"] = {"weu": alone["sites"]["weu"]}
    del alone["pools"], alone["bare_metal"]
    assert len(list(durations(share("azure", alone)))) == 1


def test_the_figures_are_those_of_their_sources(root: Path) -> None:
    control = root / "components/control_plane"
    assert "Azure needs half an hour to make one" in (root / "components/azure/vpn.py").read_text(encoding="utf-8")
    secrets = " ".join((control / "secrets.py").read_text(encoding="utf-8").split())
    assert "take up to ten minutes to come into force" in secrets


def test_a_finding_says_what_to_do_unless_all_is_well() -> None:
    found: list[Finding] = [
        *gateways(share("onprem")),
        *engine_state.backend(target()),
        *engine_state.encryption(target()),
    ]
    assert all(finding.do for finding in found if finding.severity is not Severity.OK)
