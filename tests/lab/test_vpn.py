"""The laptops' VPN in a lab of its own: its machines boot, and from a laptop on the internet everything inside answers
by its own address. What is not for laptops, or for strangers, does not."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.model import Role, control_machines, load, plan
from components.model.control_plane.machines import Machine, members
from components.model.versions.section import pinned
from lab import inotify, openvpn
from lab.hypervisor.addresses import COMPANY
from longhaul.terminal.exits import Exit
from tests.support.identity_provider import IdentityProvider
from tests.support.laptop import Laptop, Tunnel
from tests.support.project import Project, eventually, hybrid
from tests.support.workload import PORT, Talker, talkers

pytestmark = [pytest.mark.lab, pytest.mark.drill]

ENV = "vpn"
MACHINES = tuple(f"{ENV}-vpn-{index}" for index in range(2))
UNITS = (
    "longhaul-vpn.target",
    "longhaul-vpn.service",
    "longhaul-vpn-filter.service",
    "longhaul-vpn-proxy.service",
    "longhaul-vpn-door.service",
    "longhaul-vpn-signer.socket",
    "longhaul-vpn-renewed.path",
    "longhaul-vpn-revoked.path",
)
ALICE = "corp:a-1"
BACK_S = 15.0
"""Seconds after which what is inside answers again when a laptop's VPN machine has ended (docs/laptop.md)."""
WATCHES = "find /proc/[0-9]*/fd -lname anon_inode:inotify | wc -l"


@dataclass(frozen=True, kw_only=True)
class Site:
    """An environment with a VPN, the company whose people use it, and their laptop."""

    project: Project
    laptop: Laptop
    provider: IdentityProvider
    profile: Path
    machines: tuple[Machine, ...]
    doors: tuple[str, ...]
    """Public address of each VPN machine, in order."""

    @contextmanager
    def signed_in(self, **claims: Any) -> Iterator[Tunnel]:
        """Have the laptop connected by a person's token during the block."""
        self.laptop.keep(self.profile, self.provider.token(**claims))
        with self.laptop.connected("--profile", str(self.profile)) as tunnel:
            yield tunnel

    @property
    def servers(self) -> list[str]:
        """Addresses of the API servers' machines."""
        return [str(one.address) for one in members(self.machines, Role.API)]

    @property
    def inside(self) -> list[str]:
        """Private addresses of the VPN machines."""
        return [str(one.address) for one in members(self.machines, Role.VPN)]


@pytest.fixture(scope="module", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp(ENV)
    raw = hybrid(ENV, supernet="10.192.0.0/12", etcd=1, events=1, api=1)
    raw["vpn"] = {"machine_type": "Standard_D2s_v5"}
    raw["access"]["operators"].append("192.0.2.2/32")
    project = Project.make(folder / "project", raw)
    provider = IdentityProvider(folder / "corp", company=project.state / "enter-company")
    issuer = provider.issuer().model_dump(mode="json", exclude_defaults=True)
    groups = {"corp:ml": {"vpn": True}, "corp:ops": {"everywhere": "view"}}
    project.write({**raw, "identity": {"issuers": {"corp": issuer}, "groups": groups}})
    try:
        project.up()
        provider.start()
        profile = folder / "profile.json"
        profile.write_text(project.longhaul("access", "profile").stdout)
        environment = load(project.stack_file)
        yield Site(
            project=project,
            laptop=Laptop(project=project),
            provider=provider,
            profile=profile,
            machines=control_machines(environment, plan(environment)),
            doors=tuple(json.loads(project.engine("stack", "output", "vpn_addresses", "--json").stdout).values()),
        )
    finally:
        provider.stop()
        project.lab("down", "--all", check=False)


@pytest.fixture(scope="module", name="pods")
def _pods(site: Site) -> dict[str, Talker]:
    return talkers(site.project, pinned("agnhost"), aws="use1", rack="rack")


def test_the_machines_boot_and_their_units_run(site: Site) -> None:
    site.project.await_healthy()
    for machine in MACHINES:
        said = site.project.on(machine, f"systemctl is-active {' '.join(UNITS)}", check=False).stdout.split()
        assert dict(zip(UNITS, said, strict=True)) == dict.fromkeys(UNITS, "active")
        assert site.project.on(machine, "systemctl --failed --plain --no-legend").stdout == ""
        assert int(site.project.on(machine, WATCHES).stdout) <= inotify.MACHINE + inotify.VPN


def test_status_says_how_each_is(site: Site) -> None:
    rows = {one["name"]: one for one in site.project.status()["machines"]}
    assert set(MACHINES) <= set(rows)
    site.project.on(MACHINES[1], "systemctl stop longhaul-vpn-door")
    try:
        found = site.project.status()
        assert not found["healthy"]
        assert "sign-in" in json.dumps(next(one for one in found["machines"] if one["name"] == MACHINES[1]))
    finally:
        site.project.on(MACHINES[1], "systemctl start longhaul-vpn-door")
    site.project.await_healthy()


def test_without_the_vpn_a_laptop_reaches_nothing_inside(site: Site, pods: dict[str, Talker]) -> None:
    for address in (*site.servers, *site.inside, pods["aws"].address, pods["rack"].address):
        assert site.laptop.get(f"https://{address}:6443/livez", limit_s=2) == ""


def _answers(site: Site, pods: dict[str, Talker]) -> None:
    """AssertionError unless pods of every site, a Service and an API server answer the laptop."""
    laptop = site.laptop
    for name, pod in pods.items():
        assert laptop.get(f"http://{pod.address}:{PORT}/hostname") == name
        seen = laptop.get(f"http://{pod.address}:{PORT}/clientip").rpartition(":")[0]
        assert seen in site.inside, "a rule of the network sees the VPN machine's own address"
    for server in site.servers:
        assert laptop.get(f"https://{server}:6443/livez") == "ok"
    service = site.project.kubectl("get", "service", "rack", "--output=jsonpath={.spec.clusterIP}").stdout
    eventually(lambda: laptop.get(f"http://{service}:{PORT}/hostname") == "rack")


def test_an_operator_comes_in_by_the_vault(site: Site, pods: dict[str, Talker]) -> None:
    with site.laptop.connected() as tunnel:
        ((door, _),) = tunnel.connections
        assert door in site.doors
        assert "this machine's name at the VPN machines is longhaul:operator:" in "".join(tunnel.said)
        _answers(site, pods)


def test_a_person_signs_in_at_the_endpoint(site: Site, pods: dict[str, Talker]) -> None:
    with site.signed_in() as tunnel:
        assert tunnel.connections[0][0] in site.doors
        _answers(site, pods)
        assert site.laptop.get(f"http://{site.doors[0]}/", limit_s=2) == ""


def test_who_may_not_is_not_let_in(site: Site) -> None:
    refused = {
        "does not let you in": {"oid": "b-2", "groups": ["ops"]},
        "refuses the token": {"aud": "wiki"},
    }
    for why, claims in refused.items():
        site.laptop.keep(site.profile, site.provider.token(**claims))
        done = site.laptop.longhaul("vpn", "--profile", str(site.profile), "--write-only", check=False)
        assert done.returncode == Exit.FAILED
        assert why in done.stderr


def test_nothing_else_answers_at_the_public_addresses(site: Site) -> None:
    known = {22, 111, 179, 2379, 2380, 6443, 7505, 8080, 8443, *range(10240, 10260), *range(30000, 30100)}
    for door in site.doors:
        assert site.laptop.open_ports(door, sorted({*range(1, 1200), *known})) == [443]


def test_pods_do_not_reach_what_runs_the_machines(site: Site, pods: dict[str, Talker]) -> None:
    for machine, address in zip(MACHINES, site.inside, strict=True):
        listening = site.project.on(machine, "ss --no-header --listening --numeric --tcp --udp").stdout
        places = {tuple(line.split()[4].rsplit(":", 1)) for line in listening.splitlines()}
        everywhere = {int(port) for host, port in places if not host.startswith("127.")}
        assert everywhere == {22, 443, 1194}
        for pod in pods.values():
            for port in (22, 443):
                assert pod.dial(address, port=port) == "", (machine, port)
        held = "/run/longhaul-vpn/management.sock"
        assert site.project.on(machine, f"stat --format=%a /run/longhaul-vpn; ls {held}").stdout.split() == [
            "700",
            held,
        ]
        # Nor who has taken the endpoint's program.
        for user in ("vpn-door", "vpn-signer", "nobody"):
            tried = site.project.on(machine, f"setpriv --reuid={user} --clear-groups ls {held}", check=False)
            assert "Permission denied" in tried.stderr


@contextmanager
def _neighbour(site: Site, folder: Path) -> Iterator[str]:
    """Have a second machine on the internet connected, with the operator's file; give its address in the tunnel."""
    path = site.laptop.longhaul("vpn", "--write-only").stdout.strip()
    program = openvpn.ensure(log_dir=folder, progress=print) / "openvpn"
    company = str(site.project.state / "enter-company")
    own = (folder / "said").open("w+")
    with own, subprocess.Popen([company, str(program), "--config", path], stdout=own, stderr=own) as process:
        try:
            done = "Initialization Sequence Completed"
            eventually(lambda: done in (folder / "said").read_text(), limit_s=60)
            shown = [company, "ip", "-json", "-4", "address", "show", "dev", "tun0"]
            (link,) = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
            yield str(link["addr_info"][0]["local"])
        finally:
            process.terminate()


def test_a_laptop_is_no_way_to_another_nor_out(site: Site, tmp_path: Path) -> None:
    with _neighbour(site, tmp_path) as other, site.signed_in() as tunnel:
        _, own = tunnel.connections[0]
        assert own != other
        assert site.laptop.get(f"https://{site.servers[0]}:6443/livez") == "ok"
        # One that was reached would refuse.
        assert site.laptop.open_ports(other, [9]) == []
        found = f"{site.provider.url}/.well-known/openid-configuration"
        assert "issuer" in site.laptop.get(found)
        by_vpn = ("ip", "route", "add", f"{COMPANY}/32", "dev", "tun0")
        site.laptop.run(*by_vpn)
        assert site.laptop.get(found, limit_s=3) == ""


def test_a_machine_that_ends_is_passed_over(site: Site, pods: dict[str, Talker]) -> None:
    url = f"http://{pods['rack'].address}:{PORT}/hostname"
    with site.signed_in() as tunnel:
        door = tunnel.connections[0][0]
        machine = MACHINES[site.doors.index(door)]
        assert site.laptop.get(url) == "rack"
        site.project.lab("power", machine, "cut")
        began = time.monotonic()
        try:
            eventually(lambda: len(tunnel.connections) == 2, limit_s=120)
            eventually(lambda: site.laptop.get(url, limit_s=1) == "rack", limit_s=120)
            took = time.monotonic() - began
            print(f"{machine} ended: answers again after {took:.1f} s, by the other machine")
            assert tunnel.connections[1][0] == next(one for one in site.doors if one != door)
            assert took < BACK_S
        finally:
            site.project.lab("power", machine, "on")
    site.project.await_healthy()


def test_a_person_who_was_revoked_is_out(site: Site, pods: dict[str, Talker]) -> None:
    url = f"http://{pods['rack'].address}:{PORT}/hostname"
    with site.signed_in() as tunnel:
        assert site.laptop.get(url) == "rack"
        began = time.monotonic()
        revoking = site.project.longhaul_in_background("access", "revoke", ALICE, "--yes")
        eventually(lambda: site.laptop.get(url, limit_s=2) == "")
        print(f"out of the VPN after {time.monotonic() - began:.1f} s")
        said = revoking.communicate()[0]
        assert revoking.returncode == 0, said
        assert all(machine in said for machine in MACHINES)
        assert site.laptop.get(url, limit_s=2) == ""
        assert len(tunnel.connections) == 1
    site.laptop.keep(site.profile, site.provider.token())
    done = site.laptop.longhaul("vpn", "--profile", str(site.profile), "--write-only", check=False)
    assert "does not let you in" in done.stderr
    site.project.longhaul("access", "restore", ALICE)


def test_a_second_up_changes_nothing(site: Site) -> None:
    summary = json.loads(site.project.longhaul("plan", "--raw", "--format", "json").stdout)
    assert (summary["create"], summary["update"], summary["replace"], summary["delete"]) == (0, 0, 0, 0)
