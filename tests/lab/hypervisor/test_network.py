"""Networks, rules, load balancers and names, with real machines."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest

from lab.desired import World
from tests.lab.hypervisor.conftest import (
    DROPPED,
    EGRESS,
    FRONTEND,
    ONE,
    TWO,
    Lab,
    balancer,
    curl,
    eventually,
    machine,
    network_one,
    network_two,
    rule,
    vain,
)

pytestmark = pytest.mark.lab


def world() -> World:
    return World(
        networks=(network_one(), network_two()),
        machines=(
            machine("alpha", "10.1.0.4/24"),
            machine("beta", "10.1.0.5/24"),
            machine("gamma", "10.2.0.4/24", TWO),
        ),
        load_balancers=(balancer(),),
    )


@pytest.fixture(scope="module")
def lab(make_lab: Callable[[str], Lab]) -> Lab:
    lab = make_lab("test-net")
    lab.start()
    lab.apply(world())
    lab.await_phase("running", "alpha", "beta", "gamma")
    both_up(lab)
    return lab


def both_up(lab: Lab) -> None:
    eventually(lambda: list(lab.verdicts().values()) == [True, True], what="both backends are up")


@contextmanager
def without_echo(lab: Lab, *names: str) -> Iterator[None]:
    addresses = {"alpha": "10.1.0.4", "beta": "10.1.0.5"}
    try:
        for name in names:
            lab.inside(name, "systemctl stop echo")
        down = dict.fromkeys((addresses[name] for name in names), False)
        eventually(lambda: down.items() <= lab.verdicts().items(), what=f"{names} are down")
        yield
    finally:
        for name in names:
            lab.inside(name, "systemctl start echo")
        both_up(lab)


@contextmanager
def internet_listener(lab: Lab) -> Iterator[str]:
    """Run a server on the internet that answers with the caller's address."""
    script = (
        "import socket\n"
        "server = socket.create_server(('198.51.100.53', 8080))\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    connection, peer = server.accept()\n"
        "    connection.recv(65536)\n"
        "    connection.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + peer[0].encode())\n"
        "    connection.close()\n"
    )
    argv = ["nsenter", f"--net={lab.namespace('internet')}", "python3", "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield "http://198.51.100.53:8080/"
        finally:
            server.kill()


def test_machines_reach_each_other_as_rules_allow(lab: Lab) -> None:
    assert lab.inside("alpha", curl("http://10.1.0.5:8000/")).stdout == "beta 10.1.0.4\n"
    assert lab.inside("alpha", "ping -c 1 -W 3 10.1.0.5").returncode == 0


def test_what_no_rule_allows_in_is_dropped(lab: Lab) -> None:
    assert lab.inside("beta", curl("http://127.0.0.1:9000/")).stdout == "beta 127.0.0.1\n"
    assert lab.inside("alpha", vain("http://10.1.0.5:9000/"), check=False).returncode == DROPPED


def test_what_a_rule_denies_out_is_dropped(lab: Lab) -> None:
    with internet_listener(lab) as url:
        assert lab.inside("alpha", curl(url)).returncode == 0
        assert lab.inside("alpha", vain("http://198.51.100.53:22/"), check=False).returncode == DROPPED


def test_a_spoofed_source_is_dropped(lab: Lab) -> None:
    script = """
import socket
def send(source, text):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((source, 0))
        s.sendto(text, ("10.1.0.5", 8001))
send("10.1.0.4", b"before")
send("10.1.0.99", b"spoofed")
send("10.1.0.4", b"after")
"""
    lab.inside("alpha", f"ip addr add 10.1.0.99/32 dev lo; python3 -c '{script}'; ip addr del 10.1.0.99/32 dev lo")
    heard = eventually(
        lambda: "after" in (text := lab.inside("beta", "cat /run/heard", check=False).stdout) and text,
        what="the honest datagrams arrive",
    )
    assert heard.split() == ["before", "after"]


def test_networks_are_apart(lab: Lab) -> None:
    assert lab.inside("alpha", vain("http://10.2.0.4:8000/"), check=False).returncode == DROPPED


def test_an_address_that_is_not_there_never_answers(lab: Lab) -> None:
    assert lab.inside("alpha", vain("http://10.1.0.77:8000/"), check=False).returncode == DROPPED


def test_egress_has_the_address_of_the_nat(lab: Lab) -> None:
    with internet_listener(lab) as url:
        assert lab.inside("alpha", curl(url)).stdout == str(EGRESS)


def test_without_egress_there_is_no_way_out(lab: Lab) -> None:
    with internet_listener(lab) as url:
        assert lab.inside("gamma", vain(url), check=False).returncode == DROPPED


def test_the_internet_does_not_come_in(lab: Lab) -> None:
    argv = ["nsenter", f"--net={lab.namespace('internet')}", *vain(f"http://{EGRESS}:8000/").split()]
    assert subprocess.run(argv, capture_output=True, check=False).returncode == DROPPED


def test_a_public_address_is_its_machine_s_as_rules_allow(lab: Lab) -> None:
    alpha, gamma = IPv4Address("198.51.100.101"), IPv4Address("198.51.100.102")
    one = network_one(public={alpha: IPv4Address("10.1.0.4")})
    two = network_two(public={gamma: IPv4Address("10.2.0.4")})
    stranger = ["nsenter", f"--net={lab.namespace('internet')}"]
    asked = ["--interface", "198.51.100.53"]

    def come(words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*stranger, *words.split()], capture_output=True, text=True, check=False)

    lab.apply(replace(world(), networks=(one, two)))
    try:
        for name, public in (("alpha", alpha), ("gamma", gamma)):
            assert come(curl(f"http://{public}:8000/", more=asked)).stdout == f"{name} 198.51.100.53\n"
            assert come(vain(f"http://{public}:9000/", more=asked)).returncode == DROPPED
            assert str(public) not in lab.inside(name, "ip address").stdout
        with internet_listener(lab) as url:
            assert lab.inside("alpha", curl(url)).stdout == str(EGRESS)
            assert lab.inside("gamma", curl(url)).stdout == str(gamma)
    finally:
        lab.apply(world())
    for public in (alpha, gamma):
        assert come(vain(f"http://{public}:8000/", more=asked)).returncode != 0


def test_the_operator_comes_in_as_rules_allow(lab: Lab) -> None:
    assert lab.enter(*curl("http://10.2.0.4:8000/").split()).stdout == "gamma 10.9.0.1\n"
    assert lab.enter(*vain("http://10.2.0.4:9000/").split()).returncode == DROPPED


def test_the_load_balancer_spreads_and_keeps_the_clients_address(lab: Lab) -> None:
    answers = {lab.enter(*curl(f"http://{FRONTEND}/").split()).stdout for _ in range(24)}
    assert answers == {"alpha 10.9.0.1\n", "beta 10.9.0.1\n"}


def test_the_load_balancer_leaves_out_what_is_down_and_does_not_hairpin(lab: Lab) -> None:
    with without_echo(lab, "beta"):
        assert lab.verdicts() == {"10.1.0.4": True, "10.1.0.5": False}
        assert {lab.enter(*curl(f"http://{FRONTEND}/").split()).stdout for _ in range(12)} == {"alpha 10.9.0.1\n"}
        assert lab.inside("beta", curl(f"http://{FRONTEND}/")).stdout == "alpha 10.1.0.5\n"
        assert lab.inside("alpha", vain(f"http://{FRONTEND}/"), check=False).returncode == DROPPED


def test_a_clients_rules_see_the_frontend_and_a_backends_rules_the_backend_port(lab: Lab) -> None:
    alpha, beta, gamma = world().machines
    no_frontend = rule("no", 10, "out", allow=False, destinations=(IPv4Network(f"{FRONTEND}/32"),))
    no_backend_port = rule("no", 10, "in", allow=False, protocol="tcp", ports=((80, 80),))
    with without_echo(lab, "alpha"):
        shut = replace(alpha, rules=(no_frontend, *alpha.rules))
        lab.apply(replace(world(), machines=(shut, replace(beta, rules=(no_backend_port, *beta.rules)), gamma)))
        assert lab.inside("alpha", curl("http://10.1.0.5:8000/")).stdout == "beta 10.1.0.4\n"
        assert lab.inside("alpha", vain(f"http://{FRONTEND}/"), check=False).returncode == DROPPED
        lab.apply(world())
        assert lab.inside("alpha", curl(f"http://{FRONTEND}/")).stdout == "beta 10.1.0.4\n"


def test_a_load_balancer_without_backends_drops(lab: Lab) -> None:
    with without_echo(lab, "alpha", "beta"):
        assert lab.enter(*vain(f"http://{FRONTEND}/").split()).returncode == DROPPED


def test_the_hosts_loopback_port_leads_to_the_api(lab: Lab) -> None:
    port = lab.status()["port"]
    result = subprocess.run(curl(f"http://127.0.0.1:{port}/").split(), capture_output=True, text=True, check=True)
    assert result.stdout in ("alpha 10.9.0.1\n", "beta 10.9.0.1\n")


def test_names(lab: Lab) -> None:
    look = "getent ahostsv4 {} | awk '{{ print $1; exit }}'"
    assert lab.inside("alpha", look.format("api.lab.internal")).stdout == f"{FRONTEND}\n"
    assert lab.inside("alpha", look.format("my.vault.azure.net")).stdout == "198.51.100.10\n"
    assert lab.inside("gamma", look.format("login.microsoftonline.com")).stdout == "198.51.100.10\n"
    # The second network has no such zone, and other names are unknown everywhere.
    assert lab.inside("gamma", look.format("api.lab.internal")).stdout == ""
    assert lab.inside("alpha", look.format("www.example.com")).stdout == ""
    assert lab.enter("getent", "hosts", "api.lab.internal").stdout.split() == [str(FRONTEND), "api.lab.internal"]


def test_a_private_name_can_change(lab: Lab) -> None:
    changed = World(
        networks=(network_one(names={"new.lab.internal": FRONTEND}), network_two()),
        machines=world().machines,
        load_balancers=world().load_balancers,
    )
    lab.apply(changed)
    eventually(
        lambda: lab.inside("alpha", "getent hosts new.lab.internal", check=False).returncode == 0,
        what="the new name",
    )
    assert lab.inside("alpha", "getent hosts api.lab.internal", check=False).returncode == 2
    lab.apply(world())
    eventually(
        lambda: lab.inside("alpha", "getent hosts api.lab.internal", check=False).returncode == 0,
        what="the old name",
    )


def test_cloud_services_know_where_a_call_comes_from(lab: Lab) -> None:
    url = "https://management.azure.com/"
    cloud = curl(url)
    assert lab.inside("alpha", cloud).stdout == f"site {ONE}: 10.1.0.4\n"
    assert lab.enter("sh", "-c", f'{cloud} --cacert "$SSL_CERT_FILE"').stdout == "internet: 198.51.100.2\n"
    # The subnet has no service endpoint and no egress.
    assert lab.inside("gamma", vain(url), check=False).returncode == DROPPED


def test_without_a_service_endpoint_the_cloud_is_reached_through_the_nat(lab: Lab) -> None:
    (subnet,) = network_one().subnets
    plain = type(subnet)(name=subnet.name, range=subnet.range, egress=subnet.egress)
    changed = network_one(subnets=(plain,))
    lab.apply(World(networks=(changed, network_two()), machines=world().machines, load_balancers=(balancer(),)))
    assert lab.inside("alpha", curl("https://management.azure.com/")).stdout == f"internet: {EGRESS}\n"
    lab.apply(world())


def test_metadata_is_answered_by_the_network(lab: Lab) -> None:
    assert lab.inside("gamma", curl("http://169.254.169.254/")).stdout == f"metadata {TWO}: 10.2.0.4\n"


def test_rules_can_change_and_old_flows_live_on(lab: Lab) -> None:
    alpha, beta, gamma = world().machines
    closed = machine("beta", "10.1.0.5/24", rules=tuple(rule for rule in beta.rules if rule.name != "web"))
    stream = (
        "exec 3<>/dev/tcp/10.1.0.5/8000; touch /run/connected; while [ ! -e /run/go ]; do sleep 0.1; done; "
        "printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3 | tail -n 1 > /run/answer"
    )
    lab.inside("alpha", f'rm -f /run/go /run/answer; setsid -f bash -c "{stream}" > /dev/null 2>&1 < /dev/null')
    eventually(lambda: lab.inside("alpha", "test -e /run/connected", check=False).returncode == 0, what="connected")
    lab.apply(World(networks=world().networks, machines=(alpha, closed, gamma), load_balancers=(balancer(),)))
    assert lab.inside("alpha", vain("http://10.1.0.5:8000/"), check=False).returncode == DROPPED
    lab.inside("alpha", "touch /run/go")
    eventually(lambda: lab.inside("alpha", "cat /run/answer", check=False).stdout == "beta 10.1.0.4\n", what="answer")
    lab.apply(world())
    assert lab.inside("alpha", curl("http://10.1.0.5:8000/")).stdout == "beta 10.1.0.4\n"


def test_a_second_apply_of_the_same_changes_nothing(lab: Lab) -> None:
    before = lab.inside("alpha", "cat /proc/sys/kernel/random/boot_id; stat -c %Y /run/connected").stdout
    lab.apply(world())
    assert lab.inside("alpha", "cat /proc/sys/kernel/random/boot_id; stat -c %Y /run/connected").stdout == before
