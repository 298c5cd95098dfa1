"""The VPN machine's own configuration and packet filter with a real OpenVPN, in network namespaces: what laptops reach,
and what they and others do not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from vpn.certificate import Signer
from vpn.sessions import end_sessions, sessions

from components.control_plane import issuing
from components.model import AddressPlan, Environment, Machine, Role, control_machines, load, plan
from components.model.control_plane.machines import members
from components.model.secrets.vault import VPN_KEY, VPN_REMOTES
from components.model.vpn.section import Vpn, remotes
from components.render import vpn
from contract.documents.revoked import Revoked, RevokedPerson
from lab import openvpn
from longhaul.client.vpn import key
from longhaul.vpn import operator_vpn
from tests.images.machines import ROOTFS, eventually
from tests.support.alone import NEEDS_ROOT
from tests.support.hosts import STACKS
from tests.support.node_network import Namespace, connect, namespace, serving

pytestmark = [pytest.mark.engine, NEEDS_ROOT]

PROGRAMS = ROOTFS / "usr/local/lib/longhaul"
OUTSIDE = "203.0.113.{}"
"""Addresses of the internet here: the VPN machine's ends in 1."""
ELSEWHERE = "192.0.2.9"
"""An address of the internet that only the VPN machine has a route to."""
POD, NODE_PORT, SSH = "10.64.128.5", 6006, 22
DONE = "Initialization Sequence Completed"
ALICE, BOB = "corp:alice", "corp:bob"

WHO = """
import socket
held = socket.create_server(("0.0.0.0", 6007))
print("ready", flush=True)
while True:
    one, place = held.accept()
    one.sendall(place[0].encode())
    one.close()
"""
ASK = """
import socket, sys
with socket.create_connection((sys.argv[1], 6007), timeout=10) as one:
    print(one.recv(64).decode())
"""
SAY = """
import socket, sys
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.setsockopt(socket.IPPROTO_IP, 19, 1)  # IP_TRANSPARENT: any source
own.bind((sys.argv[1], 0))
own.sendto(sys.argv[1].encode(), (sys.argv[2], 9))
"""
BEGIN = """
import socket, sys
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(2000):
    own.sendto(bytes([0x38]) + bytes(53), (sys.argv[1], 1194))
"""
HEAR = """
import socket
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
own.bind(("0.0.0.0", 9))
print("ready", flush=True)
while True:
    print(own.recv(64).decode(), flush=True)
"""


@dataclass
class Laptop:
    """A laptop that has connected, or tries to."""

    where: Namespace
    process: subprocess.Popen[str]
    said: list[str]

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(iter(self.process.stdout.readline, ""))

    def saw(self, words: str) -> bool:
        return any(words in line for line in self.said)

    @property
    def address(self) -> str:
        """Its address in the tunnel."""
        words = self.where.words("ip", "-4", "-oneline", "address", "show", "dev", "tun0")
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return said.split()[3].partition("/")[0]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


@dataclass(frozen=True, kw_only=True)
class World:
    """A VPN machine, the environment behind it, and a place for laptops before it."""

    folder: Path
    environment: Environment
    addresses: AddressPlan
    machine: Machine
    openvpn: Path
    own: Namespace
    inside: Namespace
    laptops: tuple[Namespace, ...]
    authority: issuing.Pair

    def certificate(self, name: str, *, authority: issuing.Pair | None = None, minutes: float = 60) -> issuing.Pair:
        """Return a laptop's certificate with its key, as the signer makes it."""
        private = ec.generate_private_key(ec.SECP256R1())
        by, now = authority or self.authority, datetime.now(UTC)
        signer = Signer.parse(by.certificate + by.key)
        own = signer.sign(
            private.public_key(), name=name, now=now - timedelta(hours=1), until=now + timedelta(minutes=minutes)
        )
        key = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return issuing.Pair(certificate=own, key=key.decode())

    def server_certificate(self) -> issuing.Pair:
        name = f"vpn.{self.environment.domain}"
        subject = issuing.Subject(common_name=name, dns_names=[name], usages=["server"], days=1)
        return issuing.issue(subject, authority=self.authority)

    @contextmanager
    def laptop(
        self, pair: issuing.Pair, *, number: int = 0, key: str | None = None, port: int = 1194
    ) -> Iterator[Laptop]:
        """Start a laptop with this certificate."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "pair.pem").write_text(pair.certificate + pair.key)
        (folder / "key").write_text(key or (self.folder / "pki/vpn-key").read_text())
        lines = (
            *(
                "client",
                "dev tun0",
                "proto udp4",
                "nobind",
                "verb 3",
                "remote-cert-tls server",
                "explicit-exit-notify 1",
            ),
            f"remote {OUTSIDE.format(1)} 1194",
            f"verify-x509-name vpn.{self.environment.domain} name",
            *(f"{part} {folder}/pair.pem" for part in ("cert", "key")),
            f"ca {self.folder}/pki/vpn-ca.crt",
            f"tls-crypt {folder}/key",
        )
        (folder / "laptop.conf").write_text("\n".join(lines))
        words = self.laptops[number].words(str(self.openvpn), "--config", str(folder / "laptop.conf"))
        started = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        laptop = Laptop(where=self.laptops[number], process=started, said=[])
        try:
            yield laptop
        finally:
            laptop.end()

    @contextmanager
    def connected(self, name: str = ALICE, *, number: int = 0) -> Iterator[Laptop]:
        with self.laptop(self.certificate(name), number=number) as laptop:
            eventually(lambda: laptop.saw(DONE), what="the laptop is connected")
            yield laptop

    def revoke(self, *names: str) -> None:
        people = tuple(RevokedPerson(name=name, since="2030-01-01T00:00:00+00:00", by="anna") for name in names)
        (self.folder / "revoked.json").write_text(Revoked(people=people).text())

    @property
    def management(self) -> Path:
        return self.folder / "management.sock"

    def log(self) -> str:
        return (self.folder / "openvpn.log").read_text()


@pytest.fixture(scope="module", name="world")
def _world() -> Iterator[World]:
    lab = load(STACKS / "Pulumi.lab.yaml").model_copy(update={"vpn": Vpn(machine_type="Standard_D2s_v5")})
    addresses = plan(lab)
    machine = members(control_machines(lab, addresses), Role.VPN)[0]
    # OpenVPN goes on as nobody here, who has to get at it.
    folder = Path(tempfile.mkdtemp(prefix="longhaul-vpn-"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        own, inside, *laptops = (stack.enter_context(namespace()) for _ in range(4))
        _wire(lab, addresses, machine, own, inside, laptops)
        authority = issuing.new_authority(common_name="VPN", days=1, key=issuing.new_key())
        world = World(
            folder=folder,
            environment=lab,
            addresses=addresses,
            machine=machine,
            openvpn=openvpn.ensure(log_dir=folder, progress=print) / "openvpn",
            own=own,
            inside=inside,
            laptops=tuple(laptops),
            authority=authority,
        )
        _write(world)
        stack.enter_context(serving(inside, [NODE_PORT]))
        stack.enter_context(serving(own, [SSH]))
        for one in laptops:
            stack.enter_context(serving(one, [NODE_PORT]))
        stack.enter_context(_started(inside.words(sys.executable, "-c", WHO)))
        stack.enter_context(_served(world))
        yield world


def _wire(
    lab: Environment,
    addresses: AddressPlan,
    machine: Machine,
    own: Namespace,
    inside: Namespace,
    laptops: list[Namespace],
) -> None:
    site = addresses.sites[lab.control_plane.site]
    for one in (own, inside, *laptops):
        one.run("ip", "link", "set", "lo", "up")
    behind = site.subnet("vpn")[1]
    connect(own, "eth0", f"{machine.address}/24", inside, f"{behind}/24")
    own.run("ip", "route", "add", str(addresses.supernet), "via", str(behind))
    own.run("ip", "route", "add", ELSEWHERE, "via", str(behind))
    for address in (POD, ELSEWHERE):
        inside.run("ip", "address", "add", f"{address}/32", "dev", "lo")
    for number, laptop in enumerate(laptops):
        connect(own, f"inet{number}", f"{OUTSIDE.format(1)}/32", laptop, f"{OUTSIDE.format(number + 2)}/24")
        own.run("ip", "route", "add", OUTSIDE.format(number + 2), "dev", f"inet{number}")


def _write(world: World) -> None:
    """Write the machine's files into the folder, with its paths."""
    found = vpn.files(world.environment, world.addresses, world.machine)
    pki = world.folder / "pki"
    pki.mkdir()
    pair = world.server_certificate()
    (pki / "vpn.pem").write_text(pair.certificate + pair.key)
    (pki / "vpn-ca.crt").write_text(world.authority.certificate)
    (pki / "vpn-key").write_text(issuing.new_static_key())
    world.revoke()
    verify = world.folder / "verify"
    # The system's Python, as on machines: nobody may not run this one.
    verify.write_text(
        "#!/usr/bin/python3 -BIS\nimport os, sys\n"
        f"sys.path.insert(0, {str(PROGRAMS)!r})\nfrom vpn import verify\n"
        f"path, name = {str(world.folder / 'revoked.json')!r}, os.environ.get(verify.NAME, '')\n"
        "sys.exit(0 if verify.is_let_in(sys.argv[1], name, path=path) else 1)\n"
    )
    verify.chmod(0o755)
    text = found["/etc/longhaul/openvpn.conf"].content
    for path, here in {
        "/etc/longhaul": str(world.folder),
        "/run/longhaul-vpn": str(world.folder),
        "/usr/local/lib/longhaul/vpn/verify.py": str(verify),
        f"user {vpn.TUNNEL_USER}": "user nobody",
        f"group {vpn.TUNNEL_USER}": "group nogroup",
    }.items():
        assert path in text
        text = text.replace(path, here)
    (world.folder / "openvpn.conf").write_text(text)
    world.own.run("nft", "--file", "-", stdin=found["/etc/longhaul/vpn.nft"].content)
    # The kernel's own check of sources is off: the rules alone have to do it.
    for setting, value in (("ip_forward", 1), ("conf.all.rp_filter", 0), ("conf.default.rp_filter", 0)):
        world.own.run("sysctl", "--quiet", "--write", f"net.ipv4.{setting}={value}")


@contextmanager
def _served(world: World) -> Iterator[None]:
    words = world.own.words(str(world.openvpn), "--config", str(world.folder / "openvpn.conf"))
    with (world.folder / "openvpn.log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        eventually(lambda: DONE in world.log(), what="OpenVPN serves")
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_laptop_reaches_a_pod_which_sees_the_vpn_machine(world: World) -> None:
    with world.connected() as laptop:
        asked = laptop.where.words(sys.executable, "-c", ASK, POD)
        assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == str(
            world.machine.address
        )
        assert {one.person for one in sessions(world.management)} == {ALICE}
        routes = subprocess.run(laptop.where.words("ip", "route"), capture_output=True, text=True, check=True).stdout
        assert f"{world.addresses.supernet} via" in routes
        assert "default" not in routes
        assert laptop.saw(f"dhcp-option DNS {world.addresses.dns_service}")


def test_a_laptop_reaches_nothing_else(world: World) -> None:
    with world.connected() as laptop, world.connected(BOB, number=1) as other:
        source = laptop.address
        assert laptop.where.reaches(POD, NODE_PORT, source=source)
        gateway = str(world.addresses.tunnel_range(world.machine.index)[1])
        laptop.where.run("ip", "route", "add", ELSEWHERE, "dev", "tun0")
        assert not laptop.where.reaches(ELSEWHERE, NODE_PORT, source=source)
        for address in (gateway, str(world.machine.address)):
            assert not laptop.where.reaches(address, SSH, source=source)
        assert not laptop.where.reaches(other.address, NODE_PORT, source=source)
        laptop.where.run("ip", "route", "del", ELSEWHERE)


def test_nothing_begins_a_connection_to_a_laptop(world: World) -> None:
    with world.connected() as laptop:
        world.inside.run("ip", "route", "add", str(world.addresses.laptops), "via", str(world.machine.address))
        try:
            assert not world.inside.reaches(laptop.address, NODE_PORT, source=POD)
        finally:
            world.inside.run("ip", "route", "del", str(world.addresses.laptops))


def test_a_laptop_routes_for_nobody_else(world: World) -> None:
    with (
        world.connected() as laptop,
        world.connected(BOB, number=1) as other,
        _started(world.inside.words(sys.executable, "-c", HEAR)) as hearing,
    ):
        for source in ("172.31.0.9", other.address, POD, laptop.address):
            laptop.where.run(sys.executable, "-c", SAY, source, POD)
        assert hearing.stdout is not None
        # The first that arrives is the last that was sent.
        assert hearing.stdout.readline().strip() == laptop.address


def test_a_person_whose_access_was_revoked_is_cut_off_and_stays_out(world: World) -> None:
    with world.connected() as laptop, world.connected(BOB, number=1) as other:
        try:
            world.revoke(ALICE)
            assert end_sessions((ALICE,), world.management)
            assert ALICE not in {one.person for one in sessions(world.management)}
            eventually(lambda: laptop.process.poll() is not None, what="the laptop was told to end")
            with world.laptop(world.certificate(ALICE)) as again:
                eventually(lambda: "VERIFY SCRIPT ERROR" in world.log(), what="the person is refused")
                assert not again.saw(DONE)
            assert other.where.reaches(POD, NODE_PORT, source=other.address)
        finally:
            world.revoke()


def test_an_operator_enters_by_the_vault_and_can_be_revoked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {VPN_KEY: (world.folder / "pki/vpn-key").read_text(), VPN_REMOTES: remotes(None, [OUTSIDE.format(1)])}
    pair = {"certificate": world.authority.certificate, "key": world.authority.key}
    monkeypatch.setattr(operator_vpn, "read_secret_parts", lambda *_: pair)
    monkeypatch.setattr(operator_vpn, "read_secret", lambda _, name: held.get(name, world.authority.certificate))
    monkeypatch.setattr(operator_vpn, "caller_name", lambda _: "anna@example.com")
    own = key.new_key()
    name, admission = operator_vpn.admit(world.environment, key.request(own))
    shown = issuing.Pair(certificate=admission.certificate, key=own)
    with world.laptop(shown) as laptop:
        eventually(lambda: laptop.saw(DONE), what="the operator is connected")
        assert name == "longhaul:operator:anna@example.com"
        assert name in {one.person for one in sessions(world.management)}
        assert laptop.where.reaches(POD, NODE_PORT, source=laptop.address)
        try:
            world.revoke(name)
            assert end_sessions((name,), world.management)
            eventually(lambda: laptop.process.poll() is not None, what="the operator was told to end")
            before = world.log().count("VERIFY SCRIPT ERROR")
            with world.laptop(shown) as again:
                eventually(lambda: world.log().count("VERIFY SCRIPT ERROR") > before, what="the operator is refused")
                assert not again.saw(DONE)
        finally:
            world.revoke()


def test_strangers_get_no_tunnel(world: World) -> None:
    rival = issuing.new_authority(common_name="VPN", days=1, key=issuing.new_key())
    with world.laptop(world.certificate(ALICE, authority=rival)) as laptop:
        eventually(lambda: "VERIFY ERROR" in world.log(), what="another authority's certificate is refused")
        assert not laptop.saw(DONE)
    with world.laptop(world.certificate(ALICE), key=issuing.new_static_key()) as laptop:
        eventually(lambda: "tls-crypt unwrap error" in world.log(), what="a laptop without the key is not heard")
        assert not laptop.saw(DONE)
    with world.laptop(world.server_certificate()) as laptop:
        eventually(
            lambda: "unsuitable certificate purpose" in world.log(), what="a VPN machine's certificate is no laptop's"
        )
        assert not laptop.saw(DONE)


def test_first_packets_of_one_address_leave_others_room(world: World) -> None:
    words = f"session-id not found in packet from [AF_INET]{OUTSIDE.format(3)}:"
    before = world.log().count(words)
    world.laptops[1].run(sys.executable, "-c", BEGIN, OUTSIDE.format(1))
    with world.connected():
        heard = world.log().count(words) - before
    # A burst of fifty, and ten a second.
    assert 50 <= heard < 500


def test_a_certificate_that_has_ended_opens_nothing(world: World) -> None:
    with world.laptop(world.certificate(ALICE, minutes=-1)) as laptop:
        eventually(lambda: "certificate has expired" in world.log(), what="it is refused")
        assert not laptop.saw(DONE)


def test_a_laptop_that_comes_back_with_its_key_has_its_address(world: World) -> None:
    pair = world.certificate(ALICE)
    with world.connected(ALICE, number=1) as other:
        addresses = []
        for _ in range(2):
            with world.laptop(pair) as laptop:
                eventually(lambda: laptop.saw(DONE), what="the laptop is connected")
                addresses.append(laptop.address)
                assert laptop.address != other.address
        assert addresses[0] == addresses[1]
