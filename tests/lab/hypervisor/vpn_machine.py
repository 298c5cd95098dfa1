"""A VPN machine of its own: booted with the files that the program gives it, behind a public address, with a machine
inside and a laptop outside."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

import yaml

from clouds.base.openvpn import PORT, SIGN_IN_PORT
from components.control_plane import issuing
from components.model import Environment, Machine, Role, control_machines, load, plan
from components.model.control_plane.machines import members
from components.model.secrets.certificates import sign_in_name
from components.model.vpn.section import Vpn
from components.render import user_data
from contract.documents.revoked import Revoked
from contract.vpn import MARK
from lab import desired, openvpn
from lab.desired import DesiredSubnet, Network, World
from longhaul.client.profile import Inside
from longhaul.client.vpn import admission, key, openvpn_file
from longhaul.cluster.profile import inside_of
from tests.lab.hypervisor.conftest import PROJECT, RULES, Lab, eventually, machine, rule

NETWORK = "/subscriptions/x/virtualnetworks/weu"
DOOR = IPv4Address("198.51.100.70")
INSIDE = "alpha"
"""Name of the machine inside."""
DONE = "Initialization Sequence Completed"
GIVEN = """
import json, sys
sys.path.insert(0, "/usr/local/lib/longhaul")
from pathlib import Path
from vault import fetch_secrets
values = json.loads(Path("/etc/longhaul/given.json").read_text())
for file in fetch_secrets.read().files:
    fetch_secrets.write(file, file.filled(values))
"""
"""Writes the machine's secret files from values that stand for the vault's."""


@dataclass(frozen=True, kw_only=True)
class Doors:
    """A VPN machine that runs, and what laptops need to connect to it."""

    lab: Lab
    own: Machine
    inside: IPv4Address
    """Address of the machine inside."""
    program: Path
    folder: Path
    name: str
    """Name in the machine's certificate."""
    authority: issuing.Pair
    shared: str
    """Key without which OpenVPN does not answer."""
    told: Inside

    def laptop(self, *words: str) -> list[str]:
        """Return a command that runs another on the laptop."""
        return [str(self.lab.state.enter_laptop), *words]

    def run(self, words: str) -> subprocess.CompletedProcess[str]:
        """Run a command on the laptop."""
        return subprocess.run(self.laptop(*words.split()), capture_output=True, text=True, check=False)

    def write_settings(self, person: str, *more: str) -> Path:
        """Write the settings of a person's laptop, with ``more`` lines; return their path."""
        private = key.new_key()
        asked = issuing.requested_key(key.request(private))
        subject = issuing.Subject(
            common_name=person, user_id=issuing.fingerprint(asked)[:MARK], usages=["client"], days=1 / 24
        )
        admitted = admission.Admission(
            name=self.name,
            certificate=issuing.sign(subject, asked, authority=self.authority),
            authority=self.authority.certificate,
            tls_crypt=self.shared,
            expires=datetime.now(UTC) + timedelta(hours=1),
            remotes=(admission.VpnDoor(address=str(DOOR), port=PORT),),
            inside=self.told,
        )
        path = self.folder / f"{person}.ovpn"
        path.write_text(openvpn_file.single_file(admitted, private) + "".join(f"{line}\n" for line in more))
        return path

    @contextmanager
    def started(self, path: Path) -> Iterator[Path]:
        """Have OpenVPN run on the laptop during the block; give the file with what it says."""
        said = path.with_suffix(".log")
        words = self.laptop(str(self.program), "--config", str(path))
        with said.open("w") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
            try:
                yield said
            finally:
                process.terminate()

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Have the laptop connected during the block."""
        with self.started(self.write_settings("corp:alice")) as said:
            eventually(lambda: DONE in said.read_text(), what="the laptop is connected", timeout_s=60)
            yield


def boot(lab: Lab, folder: Path) -> Doors:
    """Start a lab with the machine and the one inside; return when both run."""
    environment = load(PROJECT / "stacks" / "Pulumi.lab.yaml").model_copy(
        update={"vpn": Vpn(machine_type="Standard_D2s_v5")}
    )
    addresses = plan(environment)
    own = members(control_machines(environment, addresses), Role.VPN)[0]
    site = addresses.sites[own.site]
    doors = Doors(
        lab=lab,
        own=own,
        inside=site.subnet("api")[10],
        program=openvpn.ensure(log_dir=folder, progress=print) / "openvpn",
        folder=folder,
        name=f"vpn.{environment.domain}",
        authority=issuing.new_authority(common_name="VPN", days=1, key=issuing.new_key()),
        shared=issuing.new_static_key(),
        told=inside_of(environment),
    )
    strangers = (IPv4Network("192.0.2.0/24"),)
    rules = (
        rule("out", 100, "out"),
        rule("laptops", 100, "in", sources=strangers, protocol="udp", ports=((PORT, PORT),)),
        rule("sign-in", 110, "in", sources=strangers, protocol="tcp", ports=((SIGN_IN_PORT, SIGN_IN_PORT),)),
    )
    vpn = desired.DesiredMachine(
        id=f"/vm/{own.name}",
        name=own.name,
        generation="1",
        network=NETWORK,
        address=IPv4Interface(f"{own.address}/{site.subnet('vpn').prefixlen}"),
        rules=rules,
        image="",
        user_data=_user_data(environment, own, _secrets(doors)),
    )
    network = Network(
        id=NETWORK,
        name="weu",
        ranges=(site.block,),
        subnets=tuple(DesiredSubnet(name=part, range=site.subnet(part)) for part in ("api", "vpn")),
        public={DOOR: own.address},
    )
    lab.start()
    served = machine(INSIDE, f"{doors.inside}/{site.subnet('api').prefixlen}", NETWORK, rules=RULES)
    lab.apply(World(networks=(network,), machines=(vpn, served)))
    lab.await_phase("running", own.name, INSIDE)
    return doors


def _secrets(doors: Doors) -> dict[str, str]:
    """Return the values that a VPN machine's vault would have for it, by name."""
    own, authority, name = doors.own, doors.authority, doors.name

    def pair(common_name: str, *usages: str, names: tuple[str, ...] = ()) -> str:
        subject = issuing.Subject(common_name=common_name, dns_names=names, usages=usages, days=1)
        found = issuing.issue(subject, authority=authority)
        return json.dumps({"certificate": found.certificate, "key": found.key})

    return {
        f"{own.name}-vpn": pair(name, "server", names=(name,)),
        f"{own.name}-vpn-door": pair(sign_in_name(name), "server", names=(sign_in_name(name),)),
        f"{own.name}-kube-proxy": pair("system:kube-proxy", "client"),
        "trust-vpn": authority.certificate,
        "trust-kubernetes": authority.certificate,
        "ca-vpn": json.dumps({"certificate": authority.certificate, "key": authority.key}),
        "vpn-key": doors.shared,
        "vpn-remotes": json.dumps([{"address": str(DOOR), "port": PORT}]),
        "revoked": Revoked().text(),
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
