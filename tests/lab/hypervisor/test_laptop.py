"""A laptop in the lab: on the internet as any other, and in no private network."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from lab.cgroups import ControlGroup
from lab.desired import World
from lab.hypervisor.addresses import COMPANY, AddressRanges
from tests.lab.hypervisor.conftest import (
    DROPPED,
    FRONTEND,
    Lab,
    balancer,
    curl,
    eventually,
    machine,
    network_one,
    vain,
)
from tests.support.browser import Browser

pytestmark = pytest.mark.lab

LAPTOP = "192.0.2.2"
NAME = "login.corp.example"
PUBLIC = IPv4Address("198.51.100.70")
"""Address of a machine on the internet, as a VPN machine has one."""
TUN = """
import fcntl, struct, sys
with open("/dev/net/tun", "rb+", buffering=0) as device:
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", b"tun0", 0x1001))
    print(open("/proc/net/dev").read().count("tun0"))
"""
"""Makes a TUN device (TUNSETIFF with IFF_TUN and IFF_NO_PI, linux/if_tun.h), and says whether it is there."""


@pytest.fixture(scope="module")
def lab(make_lab: Callable[[str], Lab]) -> Lab:
    lab = make_lab("test-laptop")
    lab.start()
    open_ = machine("beta", "10.1.0.5/24", public=PUBLIC)
    lab.apply(
        World(
            networks=(network_one(),),
            machines=(machine("alpha", "10.1.0.4/24"), open_),
            load_balancers=(balancer(backends=(IPv4Address("10.1.0.4"),)),),
        )
    )
    lab.await_phase("running", "alpha", "beta")
    eventually(lambda: list(lab.verdicts().values()) == [True], what="the backend is up")
    return lab


def laptop(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the laptop."""
    return entered(lab.state.enter_laptop, words)


def entered(path: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(path), *words], capture_output=True, text=True, check=False, timeout=300)


@contextmanager
def company_service(lab: Lab) -> Iterator[str]:
    """Run a server at the company that answers with the caller's address; give its URL."""
    script = (
        "import socket\n"
        f"server = socket.create_server(('{COMPANY}', 8080))\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    connection, peer = server.accept()\n"
        "    connection.recv(65536)\n"
        "    connection.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + peer[0].encode())\n"
        "    connection.close()\n"
    )
    with subprocess.Popen([str(lab.state.enter_company), "python3", "-c", script], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield f"http://{NAME}:8080/"
        finally:
            server.kill()


def test_it_has_a_public_address_and_one_route_out(lab: Lab) -> None:
    shown = json.loads(laptop(lab, "ip", "-json", "-4", "route", "show", "table", "all", "type", "unicast").stdout)
    assert [(route["dst"], route["dev"]) for route in shown] == [("default", "internet")]
    found = json.loads(laptop(lab, "ip", "-json", "-4", "address").stdout)
    held = [one["local"] for link in found for one in link["addr_info"] if link["ifname"] != "lo"]
    assert held == [LAPTOP]


def test_it_reaches_no_private_address(lab: Lab) -> None:
    for address in (f"http://{FRONTEND}/", "http://10.1.0.4:8000/"):
        assert lab.enter(*curl(address).split()).stdout.startswith("alpha ")
        assert laptop(lab, *vain(address).split()).returncode in (7, DROPPED), address
    # Nor where it says itself that its router has the way.
    laptop(lab, "ip", "route", "add", "10.1.0.0/16", "via", "198.51.100.1", "dev", "internet", "onlink")
    try:
        assert laptop(lab, *vain("http://10.1.0.4:8000/").split()).returncode in (7, DROPPED)
    finally:
        laptop(lab, "ip", "route", "del", "10.1.0.0/16")


def test_it_reaches_the_clouds_and_what_is_public(lab: Lab) -> None:
    cloud = laptop(lab, "sh", "-c", f'{curl("https://management.azure.com/")} --cacert "$SSL_CERT_FILE"')
    assert cloud.stdout == f"internet: {LAPTOP}\n"
    assert laptop(lab, *curl(f"http://{PUBLIC}:8000/").split()).stdout == f"beta {LAPTOP}\n"


def test_it_resolves_public_names_and_no_others(lab: Lab) -> None:
    look = ("getent", "ahostsv4")
    assert laptop(lab, *look, "my.vault.azure.net").stdout.startswith("198.51.100.10 ")
    assert laptop(lab, *look, NAME).stdout.startswith(f"{COMPANY} ")
    assert lab.enter(*look, "api.lab.internal").stdout.startswith(f"{FRONTEND} ")
    assert laptop(lab, *look, "api.lab.internal").stdout == ""


def test_a_company_s_service_is_reached_by_its_name(lab: Lab) -> None:
    with company_service(lab) as url:
        assert laptop(lab, *curl(url).split()).stdout == LAPTOP
        assert lab.enter(*curl(url).split()).stdout == "198.51.100.2"
        assert lab.inside("alpha", curl(url)).stdout == "198.51.100.100"


def test_a_browser_there_opens_what_is_public_alone(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("<title>intranet</title><script>document.write(6 * 7)</script>")
    words = [str(lab.state.enter_company), sys.executable, "-m", "http.server", "--bind", str(COMPANY), "8081"]
    browser = Browser.ensure(tmp_path, under=[str(lab.state.enter_laptop)])
    with subprocess.Popen([*words, "--directory", str(tmp_path / "page")]) as server:
        try:
            url = f"http://{NAME}:8081/"
            eventually(lambda: laptop(lab, *curl(url).split()).returncode == 0, what="the company's page")
            page = browser.open(url, tmp_path / "page.png")
            with pytest.raises(AssertionError, match="ERR_"):
                browser.open(f"http://{FRONTEND}/", tmp_path / "private.png")
        finally:
            server.kill()
    assert page.title == "intranet"
    assert "42" in page.html
    assert page.picture.read_bytes().startswith(b"\x89PNG")


def test_nobody_at_the_company_has_the_operator_s_credentials(lab: Lab) -> None:
    assert laptop(lab, "printenv", "ODD").stdout == 'it\'s $HOME "quoted"\n'
    assert entered(lab.state.enter_company, ("printenv", "ODD")).returncode == 1


def test_it_takes_a_tunnel_s_device(lab: Lab) -> None:
    assert laptop(lab, "python3", "-c", TUN).stdout == "1\n"


def test_what_programs_keep_there_is_gone_with_the_lab(lab: Lab) -> None:
    kept = laptop(lab, "sh", "-c", 'echo "$XDG_STATE_HOME" "$XDG_CONFIG_HOME"').stdout.split()
    assert all(Path(folder).is_relative_to(lab.state.directory) for folder in kept)
    assert len(kept) == 2
    with subprocess.Popen([str(lab.state.enter_laptop), "sleep", "1000"]) as sleeper:
        try:
            eventually(
                lambda: sleeper.pid in ControlGroup.of(lab.state, "_operator").members(), what="teardown finds it"
            )
        finally:
            sleeper.kill()


def test_each_environment_has_a_laptop_of_its_own() -> None:
    own = AddressRanges(supernet=IPv4Network("10.0.0.0/16"), operators=IPv4Network("10.0.255.0/24"))
    theirs = AddressRanges(
        supernet=IPv4Network("10.1.0.0/16"),
        operators=IPv4Network("10.1.255.0/24"),
        public=IPv4Address("198.51.100.3"),
        tenant="twin",
    )
    assert (str(own.laptop), own.laptop_place) == (LAPTOP, "laptop")
    assert (str(theirs.laptop), theirs.laptop_place) == ("192.0.2.3", "l-twin")
