"""A machine of the laptops' VPN boots with the files that the program gives it, under a real systemd, behind a public
address; a laptop connects to it, and reaches what is inside."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from clouds.base.openvpn import PORT, SIGN_IN_PORT
from components.control_plane import issuing
from components.model import Environment, Machine, Role, control_machines, load, plan
from components.model.machines import members
from components.model.nodes import cluster_for_laptops
from components.model.vpn import MARK, Vpn
from components.render import user_data
from lab import desired, openvpn
from lab.desired import Network, Subnet, World
from longhaul.client.vpn import admission, key, settings
from tests.lab.hypervisor.conftest import (
    DROPPED,
    PROJECT,
    RULES,
    Lab,
    curl,
    eventually,
    machine,
    rule,
    vain,
)

pytestmark = pytest.mark.lab

NETWORK = "/subscriptions/x/virtualnetworks/weu"
DOOR = IPv4Address("198.51.100.70")
DONE = "Initialization Sequence Completed"
GIVEN = """
import json, sys
sys.path.insert(0, "/usr/local/lib/longhaul")
from pathlib import Path
import fetch_secrets
values = json.loads(Path("/etc/longhaul/given.json").read_text())
for file in fetch_secrets.Config.read(fetch_secrets.CONFIG).files:
    fetch_secrets.write(file, fetch_secrets.render(file.content, values))
"""
"""Writes the machine's secret files from values that stand for the vault's."""
UNITS = ("longhaul-vpn", "longhaul-vpn-filter", "longhaul-vpn-door", "longhaul-vpn-signer.socket")


@dataclass(frozen=True, kw_only=True)
class Doors:
    """A VPN machine that runs, and what a laptop needs to connect to it."""

    lab: Lab
    own: Machine
    settings: Path
    program: Path

    def laptop(self, words: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the laptop."""
        full = [str(self.lab.state.enter_laptop), *words.split()]
        return subprocess.run(full, capture_output=True, text=True, check=False)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Have the laptop connected during the block."""
        said = self.settings.with_name("said")
        words = [str(self.lab.state.enter_laptop), str(self.program), "--config", str(self.settings)]
        with said.open("w") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
            try:
                eventually(lambda: DONE in said.read_text(), what="the laptop is connected", timeout_s=60)
                yield
            finally:
                process.terminate()


def _secrets(own: Machine, authority: issuing.Pair, shared: str, name: str) -> dict[str, str]:
    """Return the values that a VPN machine's vault would have for it, by name."""

    def pair(common_name: str, *usages: issuing.Usage, names: tuple[str, ...] = ()) -> str:
        subject = issuing.Subject(common_name=common_name, dns_names=names, usages=usages, days=1)
        found = issuing.issue(subject, authority=authority)
        return json.dumps({"certificate": found.certificate, "key": found.key})

    return {
        f"{own.name}-vpn": pair(name, "server", names=(name,)),
        f"{own.name}-kube-proxy": pair("system:kube-proxy", "client"),
        "trust-vpn": authority.certificate,
        "trust-kubernetes": authority.certificate,
        "ca-vpn": json.dumps({"certificate": authority.certificate, "key": authority.key}),
        "vpn-key": shared,
        "vpn-remotes": json.dumps([{"address": str(DOOR), "port": PORT}]),
        "revoked": json.dumps({"people": []}),
    }


def _user_data(environment: Environment, own: Machine, secrets: dict[str, str]) -> bytes:
    """Return the machine's user data, with its secrets: no cloud is there that could give them."""
    content: dict[str, Any] = yaml.safe_load(user_data(environment, plan(environment), own))
    start = "[Service]\nExecStart=\nExecStart=/usr/bin/python3 /etc/longhaul/given.py\n"
    content["write_files"] += [
        {"path": "/etc/longhaul/given.json", "content": json.dumps(secrets)},
        {"path": "/etc/longhaul/given.py", "content": GIVEN},
        {"path": "/etc/systemd/system/longhaul-secrets.service.d/given.conf", "content": start},
    ]
    return b"#cloud-config\n" + json.dumps(content).encode()


@pytest.fixture(scope="module")
def doors(make_lab: Callable[[str], Lab], tmp_path_factory: pytest.TempPathFactory) -> Doors:
    folder = tmp_path_factory.mktemp("vpn")
    environment = load(PROJECT / "stacks" / "Pulumi.lab.yaml").model_copy(
        update={"vpn": Vpn(machine_type="Standard_D2s_v5")}
    )
    addresses = plan(environment)
    own = members(control_machines(environment, addresses), Role.VPN)[0]
    site = addresses.sites[own.site]
    name = f"vpn.{environment.domain}"
    authority, shared = (
        issuing.new_authority(common_name="VPN", days=1, key=issuing.new_key()),
        issuing.new_static_key(),
    )
    inside = site.subnet("api")[10]
    strangers = (IPv4Network("192.0.2.0/24"),)
    rules = (
        rule("out", 100, "out"),
        rule("laptops", 100, "in", sources=strangers, protocol="udp", ports=((PORT, PORT),)),
        rule("sign-in", 110, "in", sources=strangers, protocol="tcp", ports=((SIGN_IN_PORT, SIGN_IN_PORT),)),
    )
    vpn = desired.Machine(
        id=f"/vm/{own.name}",
        name=own.name,
        generation="1",
        network=NETWORK,
        address=IPv4Interface(f"{own.address}/{site.subnet('vpn').prefixlen}"),
        rules=rules,
        image="",
        user_data=_user_data(environment, own, _secrets(own, authority, shared, name)),
    )
    network = Network(
        id=NETWORK,
        name="weu",
        ranges=(site.block,),
        subnets=tuple(Subnet(name=part, range=site.subnet(part)) for part in ("api", "vpn")),
        public={DOOR: own.address},
    )
    lab = make_lab("test-vpn")
    lab.start()
    served = machine("alpha", f"{inside}/{site.subnet('api').prefixlen}", NETWORK, rules=RULES)
    lab.apply(World(networks=(network,), machines=(vpn, served)))
    lab.await_phase("running", own.name, "alpha")
    private = key.new_key()
    person = issuing.requested_key(key.request(private))
    subject = issuing.Subject(
        common_name="corp:alice", user_id=issuing.fingerprint(person)[:MARK], usages=["client"], days=1 / 24
    )
    admitted = admission.Admission(
        name=name,
        certificate=issuing.sign(subject, person, authority=authority),
        authority=authority.certificate,
        tls_crypt=shared,
        expires=datetime.now(UTC) + timedelta(hours=1),
        remotes=(admission.Remote(address=str(DOOR), port=PORT),),
        server=str(cluster_for_laptops(environment)["server"]),
        zones=(),
    )
    path = folder / "laptop.ovpn"
    path.write_text(settings.in_one(admitted, private))
    program = openvpn.ensure(log_dir=folder, progress=print) / "openvpn"
    return Doors(lab=lab, own=own, settings=path, program=program)


def test_its_units_run(doors: Doors) -> None:
    words = f"systemctl is-active {' '.join(UNITS)}"
    eventually(
        lambda: doors.lab.inside(doors.own.name, words, check=False).stdout.split() == ["active"] * len(UNITS),
        what="the units are active",
        timeout_s=60,
    )


def test_a_laptop_connects_and_reaches_what_is_inside(doors: Doors) -> None:
    inside = (
        f"http://{plan(load(PROJECT / 'stacks' / 'Pulumi.lab.yaml')).sites[doors.own.site].subnet('api')[10]}:8000/"
    )
    assert doors.laptop(vain(inside)).returncode != 0
    with doors.connected():
        assert doors.laptop(curl(inside)).stdout == f"alpha {doors.own.address}\n"


def test_strangers_reach_its_two_doors_alone(doors: Doors) -> None:
    assert doors.laptop(curl(f"https://{DOOR}/healthz", more=["--insecure"])).stdout == "{}"
    assert doors.laptop(vain(f"http://{DOOR}:22/")).returncode == DROPPED
    assert doors.lab.inside("alpha", vain(f"http://{doors.own.address}:22/"), check=False).returncode == DROPPED
    assert doors.lab.inside("alpha", vain(f"https://{doors.own.address}/"), check=False).returncode == DROPPED
