"""Pods' ranges, peerings, tunnels between real gateways, and a rack, all with real machines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from lab.cgroups import ControlGroup
from lab.depot_authority import AUTHORITY
from lab.desired import World
from tests.lab.hypervisor.conftest import (
    DROPPED,
    FRONTEND,
    Lab,
    command_of,
    contents,
    curl,
    eventually,
    vain,
)
from tests.lab.hypervisor.links import (
    EGRESS,
    FAR_BLOCK,
    NEAR,
    PODS,
    RACK,
    RACK_GATEWAY,
    RACK_HOST,
    gateway,
    ssh,
    tunnel,
    tunnels,
    world,
    write_hosts,
)
from tests.lab.hypervisor.test_network import internet_listener
from tests.model.make import AZURE, minimal

pytestmark = pytest.mark.lab

ALPHA_POD, GAMMA_POD = str(PODS["alpha"][1]), str(PODS["gamma"][1])
TUNNELS = ("link-0", "link-1")


@pytest.fixture(scope="module")
def lab(make_lab: Callable[[str], Lab], gateway_rootfs: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    lab = make_lab("test-links")
    stack = tmp_path_factory.mktemp("stacks") / "Pulumi.test-links.yaml"
    declared = {**minimal(), "name": "test-links", "sites": {"weu": AZURE, "rack": RACK}, "bare_metal": "hosts.yaml"}
    stack.write_text(json.dumps({"config": {"longhaul:environment": declared}}))
    write_hosts(stack.with_name("hosts.yaml"), 1)
    depot = tmp_path_factory.mktemp("depot")
    for folder in ("binaries", "debian", "images"):
        (depot / folder).mkdir()
    (depot / "images" / "index.json").write_text('{"manifests": []}')
    (depot / "binaries" / "SHA256SUMS").write_text("sums\n")
    lab.start("--gateway-rootfs", str(gateway_rootfs), "--stack", str(stack), "--depot", str(depot))
    lab.apply(world())
    lab.await_phase("running", "alpha", "beta", "gamma", "delta", "test-links-gw-0", "test-links-node-0")
    await_tunnels(lab, *TUNNELS)
    eventually(lambda: lab.verdicts().get("10.1.0.4"), what="the backend is up")
    return lab


def await_tunnels(lab: Lab, *names: str) -> None:
    """Wait until both ends of exactly these tunnels are up."""

    def reached() -> bool:
        ends = [tunnels(lab, end) for end in ("gw-near", "gw-far")]
        return all({name for name, item in end.items() if item["up"]} == set(names) for end in ends)

    eventually(reached, what=f"of the tunnels {names} are up")


def call(lab: Lab, machine: str, target: str, *, source: str = "") -> str:
    """Return the echo server's answer: its name and the caller's address."""
    more = ["--interface", source] if source else []
    return lab.inside(machine, curl(f"http://{target}:8000/", more=more)).stdout


def attempt(lab: Lab, machine: str, target: str) -> subprocess.CompletedProcess[str]:
    """Make the same call and return the result of curl: nothing may answer."""
    return lab.inside(machine, vain(f"http://{target}:8000/"), check=False)


def is_dropped(lab: Lab, machine: str, target: str) -> bool:
    return attempt(lab, machine, target).returncode == DROPPED


@pytest.fixture
def cut(lab: Lab) -> Iterator[Callable[[str], None]]:
    """Function that cuts a tunnel or gateway by name; all cuts are restored afterwards."""
    yield lambda name: lab.lab("tunnel", name, "cut").check_returncode()
    for name in lab.status()["cuts"]:
        lab.lab("tunnel", name, "restore")
    await_tunnels(lab, *TUNNELS)


def test_pods_of_two_sites_talk_without_translation(lab: Lab) -> None:
    assert call(lab, "alpha", "10.2.0.4") == "gamma 10.1.0.4\n"
    assert call(lab, "alpha", GAMMA_POD, source=ALPHA_POD) == f"gamma {ALPHA_POD}\n"
    assert call(lab, "gamma", ALPHA_POD, source=GAMMA_POD) == f"alpha {GAMMA_POD}\n"


def test_a_load_balancer_serves_other_sites(lab: Lab) -> None:
    for machine, address in (("gamma", "10.2.0.4"), ("delta", "10.3.0.4")):
        assert lab.inside(machine, curl(f"http://{FRONTEND}/")).stdout == f"alpha {address}\n"


def test_a_peering_carries_what_is_routed(lab: Lab) -> None:
    assert call(lab, "alpha", "10.3.0.4", source=ALPHA_POD) == f"delta {ALPHA_POD}\n"
    assert call(lab, "delta", ALPHA_POD) == "alpha 10.3.0.4\n"


def test_nothing_else_passes_between_networks(lab: Lab) -> None:
    # A subnet without routes, and a network that is only the neighbour of a neighbour.
    assert is_dropped(lab, "beta", "10.2.0.4")
    assert is_dropped(lab, "beta", "10.3.0.4")
    assert is_dropped(lab, "delta", "10.2.0.4")


def test_rules_apply_to_pods_and_across_tunnels(lab: Lab) -> None:
    refused = lab.inside("alpha", vain(f"http://{GAMMA_POD}:9000/"), check=False)
    assert refused.returncode == DROPPED
    assert lab.inside("gamma", curl(f"http://{GAMMA_POD}:9000/")).returncode == 0


def test_the_operator_reaches_pods(lab: Lab) -> None:
    assert lab.enter(*curl(f"http://{ALPHA_POD}:8000/").split()).stdout == "alpha 10.9.0.1\n"


def test_pods_leave_by_the_nat_and_are_told_no_metadata(lab: Lab) -> None:
    with internet_listener(lab) as url:
        assert lab.inside("alpha", curl(url, more=["--interface", ALPHA_POD])).stdout == str(EGRESS)
    metadata = "http://169.254.169.254/"
    assert lab.inside("alpha", curl(metadata)).stdout == f"metadata {NEAR}: 10.1.0.4\n"
    assert lab.inside("alpha", vain(metadata, more=["--interface", ALPHA_POD]), check=False).returncode == DROPPED


def test_what_is_too_large_for_a_tunnel_is_said_and_tcp_is_clamped(lab: Lab) -> None:
    said = lab.inside("alpha", "ping -c 2 -W 3 -M do -s 1400 10.2.0.4 2>&1", check=False).stdout
    assert "mtu=1400" in said.replace(" ", "")
    segments = "exec 3<>/dev/tcp/10.2.0.4/8000; ss -tin dst 10.2.0.4 | grep -o ' mss:[0-9]*'"
    assert int(lab.inside("alpha", f'bash -c "{segments}"').stdout.partition(":")[2]) <= 1350


def test_only_ipsec_is_seen_on_the_internet(lab: Lab) -> None:
    with lab.meanwhile("alpha", curl(f"http://{GAMMA_POD}:8000/")):
        found = json.loads(lab.lab("capture", "--seconds", "3", "--json").stdout)
    between = [row for row in found["flows"] if {row["from"], row["to"]} == {"gw-near", "gw-far"}]
    assert any(row["kind"] == "esp-in-udp" and row["packets"] >= 4 for row in between)
    assert {row["kind"] for row in between} <= {"esp-in-udp", "ike", "nat-keepalive"}


def test_a_capture_sees_what_is_in_the_clear(lab: Lab) -> None:
    with lab.meanwhile("test-links-gw-0", "ping -c 1 -W 1 198.51.100.64"):
        result = lab.lab("capture", "--seconds", "2", check=False)
    assert result.returncode == 1
    assert "icmp 198.51.100.20 -> 198.51.100.64" in result.stdout


def test_one_tunnel_cut_the_other_carries(lab: Lab, cut: Callable[[str], None]) -> None:
    for name in TUNNELS:
        cut(f"gw-near/{name}")
        await_tunnels(lab, *(other for other in TUNNELS if other != name))
        assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"
        lab.lab("tunnel", f"gw-near/{name}", "restore")
        await_tunnels(lab, *TUNNELS)


def test_a_gateway_cut_there_is_no_path_and_back_there_is_one(lab: Lab, cut: Callable[[str], None]) -> None:
    cut("gw-far")
    assert is_dropped(lab, "alpha", GAMMA_POD)
    lab.lab("tunnel", "gw-far", "restore")
    # If it took long to get here, the gateways have given the tunnels up and dial them again.
    eventually(lambda: attempt(lab, "alpha", GAMMA_POD).stdout == "gamma 10.1.0.4\n", what="there is a path again")
    refused = lab.lab("tunnel", "gw-far", "restore", check=False)
    assert "'gw-far' is not cut" in refused.stderr
    assert "there are gw-far, gw-near, test-links-gw-0" in lab.lab("tunnel", "gw-x", "cut", check=False).stderr


def test_a_tunnel_that_does_not_carry_comes_up_and_drops(lab: Lab, cut: Callable[[str], None]) -> None:
    ends = world().gateways
    near, far = (replace(end, tunnels=(end.tunnels[0], replace(end.tunnels[1], carries=False))) for end in ends)
    lab.apply(replace(world(), gateways=(near, far)))
    await_tunnels(lab, *TUNNELS)
    assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"
    assert call(lab, "gamma", ALPHA_POD) == "alpha 10.2.0.4\n"
    # The far end may send into it as it likes.
    lab.apply(replace(world(), gateways=(near, ends[1])))
    cut("gw-near/link-0")
    await_tunnels(lab, "link-1")
    assert is_dropped(lab, "alpha", GAMMA_POD)
    assert is_dropped(lab, "gamma", ALPHA_POD)
    lab.apply(world())
    await_tunnels(lab, "link-1")
    assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"


@pytest.mark.drill
def test_an_instance_without_its_tunnel_drops_its_share_of_the_flows(lab: Lab, cut: Callable[[str], None]) -> None:
    near, far = world().gateways
    targets = [str(FAR_BLOCK[256 * 100 + number]) for number in range(8)]
    lab.inside("gamma", "; ".join(f"ip addr add {target}/32 dev lo" for target in targets))
    gamma = next(machine for machine in world().machines if machine.name == "gamma")
    routed = replace(gamma, routed=(*gamma.routed, IPv4Network(f"{targets[0]}/29")))
    machines = tuple(routed if machine.name == "gamma" else machine for machine in world().machines)
    lab.apply(replace(world(), machines=machines, gateways=(replace(near, spreads=True), far)))
    await_tunnels(lab, *TUNNELS)
    eventually(lambda: all(attempt(lab, "alpha", one).stdout for one in targets), what="all are reached")
    cut("gw-near/link-1")
    await_tunnels(lab, "link-0")
    reached = [bool(attempt(lab, "alpha", target).stdout) for target in targets]
    assert True in reached
    assert False in reached
    lab.apply(world())


def charon_of(lab: Lab, name: str) -> int | None:
    """Return the pid of a gateway's charon on the host, or None while it does not run."""
    from lab.hypervisor.charon import PROCESS, key_of

    members = ControlGroup.of(lab.state, f"{PROCESS}{key_of(name.upper())}").members()
    return next((pid for pid in members if command_of(pid).endswith(b"charon-systemd\0")), None)


@pytest.mark.drill
def test_gateways_outlive_the_daemon_and_come_back_when_they_die(lab: Lab) -> None:
    before = charon_of(lab, "gw-near")
    assert before is not None
    os.kill(lab.daemon_pid(), signal.SIGKILL)
    assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"
    eventually(lambda: lab.status()["daemon"]["running"], what="a new daemon")
    await_tunnels(lab, *TUNNELS)
    assert charon_of(lab, "gw-near") == before
    os.kill(before, signal.SIGKILL)
    eventually(lambda: charon_of(lab, "gw-near") not in (before, None), what="a new charon")
    await_tunnels(lab, *TUNNELS)
    assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"


def test_keys_are_in_no_file_and_no_argument(lab: Lab) -> None:
    secret = tunnel(0, near=True).key.encode()
    texts = [path for path in lab.state.logs.iterdir() if path.is_file()]
    texts += [
        path for path in Path(f"/proc/{lab.pid()}/root/run/longhaul/gateways").rglob("upper/**/*") if path.is_file()
    ]
    texts += [Path(f"/proc/{pid}/cmdline") for pid in ControlGroup.of(lab.state).members()]
    assert len(texts) > 20
    assert not [path for path in texts if secret in contents(path)]


def test_a_changed_key_takes_the_tunnel_down_until_both_have_it(lab: Lab) -> None:
    near, far = world().gateways
    new = [replace(tunnel(0, near=end), key="another key") for end in (True, False)]
    lab.apply(replace(world(), gateways=(replace(near, tunnels=(new[0], near.tunnels[1])), far)))
    await_tunnels(lab, "link-1")
    assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"
    both = (replace(near, tunnels=(new[0], near.tunnels[1])), replace(far, tunnels=(new[1], far.tunnels[1])))
    lab.apply(replace(world(), gateways=both))
    await_tunnels(lab, *TUNNELS)
    lab.apply(world())
    await_tunnels(lab, *TUNNELS)


def test_a_machine_may_get_another_range_while_it_runs(lab: Lab) -> None:
    alpha, *others = world().machines
    started = lab.inside("alpha", "cut -d ' ' -f 22 /proc/1/stat").stdout
    lab.apply(replace(world(), machines=(replace(alpha, routed=()), *others)))
    eventually(lambda: is_dropped(lab, "gamma", ALPHA_POD), what="the range is gone")
    lab.apply(world())
    eventually(lambda: attempt(lab, "gamma", ALPHA_POD).stdout, what="the range is back")
    assert lab.inside("alpha", "cut -d ' ' -f 22 /proc/1/stat").stdout == started


def test_a_racks_machines_let_the_operator_in_with_the_host_keys_of_their_names(lab: Lab) -> None:
    assert ssh(lab, RACK_HOST, "hostname").stdout == "test-links-node-0\n"
    entered = ssh(lab, RACK_GATEWAY, "hostname; ip -o -4 addr show dev eth1; test -c /dev/net/tun && echo tun")
    assert entered.stdout.startswith("test-links-gw-0\n")
    assert "198.51.100.20/32" in entered.stdout
    assert entered.stdout.endswith("tun\n")


def test_a_racks_gateway_is_on_the_internet_and_its_host_behind_a_nat(lab: Lab) -> None:
    with internet_listener(lab) as url:
        assert lab.inside("test-links-gw-0", curl(url)).stdout == "198.51.100.20"
        assert lab.inside("test-links-node-0", curl(url)).stdout == "198.51.100.128"
    # Without a tunnel there is no path, by any route.
    assert attempt(lab, "test-links-node-0", "10.1.0.4").returncode != 0
    assert attempt(lab, "test-links-gw-0", "10.1.0.4").returncode != 0


def test_a_racks_router_gives_other_sites_packets_to_the_gateway(lab: Lab) -> None:
    lab.inside("test-links-gw-0", "ip addr add 10.64.1.1/32 dev lo")
    try:
        assert lab.inside("test-links-node-0", "ping -c 1 -W 3 10.64.1.1").returncode == 0
    finally:
        lab.inside("test-links-gw-0", "ip addr del 10.64.1.1/32 dev lo")


def test_the_depot_is_served_everywhere_and_metadata_not_in_racks(lab: Lab) -> None:
    address = "https://depot.longhaul.internal/binaries/SHA256SUMS"
    for machine in ("alpha", "gamma", "test-links-gw-0", "test-links-node-0"):
        lab.inside(machine, f"cat > /root/authority <<'END'\n{AUTHORITY.read_text()}END")
        assert lab.inside(machine, curl(address, more=("--cacert", "/root/authority"))).stdout == "sums\n"
    depot = curl(address, more=("--cacert", str(AUTHORITY)))
    assert lab.enter(*depot.split()).stdout == "sums\n"
    assert lab.inside("test-links-node-0", vain("http://169.254.169.254/"), check=False).returncode == DROPPED


def test_machines_have_what_kubelet_and_containerd_need(lab: Lab) -> None:
    script = """
set -e
for group in /sys/fs/cgroup/*/; do mountpoint -q $group || continue; mkdir $group/probe; rmdir $group/probe; done
sysctl -qw net.ipv4.ip_forward=1
test "$(cat /proc/sys/vm/overcommit_memory)" = 1
test -c /dev/kmsg
mkdir -p /tmp/m; cd /var/lib/containerd; mkdir -p a b c
mount -t overlay probe -o lowerdir=a,upperdir=b,workdir=c /tmp/m; umount /tmp/m
"""
    host = Path("/proc/sys/vm/overcommit_memory").read_text()
    assert lab.inside("test-links-node-0", script).returncode == 0
    assert Path("/proc/sys/vm/overcommit_memory").read_text() == host


def test_a_host_added_to_the_hosts_file_appears_at_the_next_start(lab: Lab) -> None:
    config = json.loads(lab.state.config_file.read_text())
    write_hosts(Path(config["stack"]).with_name("hosts.yaml"), 2)
    more = ["--gateway-rootfs", config["gateway_rootfs"], "--stack", config["stack"], "--depot", config["depot"]]
    lab.start(*more)
    lab.await_phase("running", "test-links-node-1")
    assert lab.machine("test-links-node-1")["address"] == "10.65.32.11"


def test_gateways_and_peerings_that_are_no_longer_wanted_go(lab: Lab) -> None:
    lab.apply(replace(world(), gateways=(), peerings=()))
    assert is_dropped(lab, "alpha", "10.3.0.4")
    netns = Path(lab.namespace("internet")).parent
    eventually(lambda: not list(netns.glob("gw-*")), what="the gateways' namespaces are gone")
    assert not [path for path in ControlGroup.of(lab.state).existing() if path.name.startswith("gateway.")]
    lab.apply(world())
    await_tunnels(lab, *TUNNELS)
    assert call(lab, "alpha", GAMMA_POD) == "gamma 10.1.0.4\n"
    assert call(lab, "alpha", "10.3.0.4") == "delta 10.1.0.4\n"
    assert gateway(NEAR).id in {item["id"] for item in lab.status()["gateways"]}
    lab.apply(World())
