"""Problems that preflight finds on a machine, all reported at once. The probe runs with invented tools; the question to
the network segment runs with invented frames and on a real one."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from components.model import load
from components.model.secrets.certificates import NODES, authorities
from longhaul.racks.inventory import Reach, inventory
from tests.playbooks.test_scripts import ROLES, program, sh
from tests.support.modules import module_at

FILES = ROLES / "preflight" / "files"
API = "https://10.0.3.5:6443"
SYSTEMS = {"systems": "debian-12 ubuntu-24.04", "systems_titles": "Debian 12 and Ubuntu 24.04"}
FINE = {"address": "10.0.0.1", "api": API, "authority": "lab nodes", "free": "100", "mtu": "1400", "node": "yes"}
FINE |= SYSTEMS
KUBECONFIGS = (
    "/var/lib/kubelet/kubeconfig",
    "/etc/kubernetes/kubelet.conf",
    "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
)
CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"


class Machine:
    """A machine without problems. Its tools are invented, and its files are in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tools = folder, folder / "tools"
        self.tools.mkdir()
        self.writes("/etc/os-release", 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n')
        self.tool("ip", "case $* in *xfrm*) exit 2 ;; *) echo '2: eth0    inet 10.0.0.1/24 scope global eth0' ;; esac")
        self.tool("unshare", 'shift; exec "$@"')
        self.tool("uname", "case $1 in -r) echo 6.1.0-18-amd64 ;; *) echo x86_64 ;; esac")
        self.has_room(kib=10_000_000, free=9_000_000)
        self.tool("ping", "exit 0")

    def tool(self, name: str, text: str) -> None:
        program(self.tools, name, text)

    def writes(self, path: str, text: str) -> None:
        file = self.folder / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def has_room(self, *, kib: int, free: int) -> None:
        row = f"/dev/x {kib} {kib - free} {free} 0% /"
        self.tool("df", f"echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'; echo '{row}'")

    def says(self, **arguments: str) -> list[str]:
        script = (FILES / "probe.sh").read_text()
        for path in (
            "/sys/bus/pci",
            "/sys/class/infiniband",
            "/etc/os-release",
            "/etc/kubernetes",
            "/var/lib/kubelet",
            "/var/lib/rancher",
        ):
            script = script.replace(path, f"{self.folder}{path}")
        words = [f"{name}={value}" for name, value in {**FINE, **arguments}.items()]
        done = sh(script, *words, path=self.tools)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def problems(self, **arguments: str) -> list[str]:
        """Return the problems, without those that the machine that runs the test may have itself."""
        own = ("systemd does not run", "there is no Python", "not root")
        found = [line.removeprefix("problem ") for line in self.says(**arguments) if line.startswith("problem ")]
        return [line for line in found if not any(one in line for one in own)]


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_fine_machine_has_no_problem(machine: Machine) -> None:
    assert machine.problems(gateways="10.0.0.2 10.0.0.3") == []
    lines = machine.says(public="10.0.0.1")
    assert "fact public_address_here" in lines
    assert "fact kernel_esp" not in lines
    assert "fact node" not in lines


def test_everything_wrong_is_said_at_once(machine: Machine) -> None:
    machine.writes("/etc/os-release", 'ID=debian\nVERSION_ID="9"\nPRETTY_NAME="Debian 9"\n')
    machine.tool("uname", "case $1 in -r) echo 4.9.0-19-amd64 ;; *) echo armv7l ;; esac")
    machine.has_room(kib=1000, free=10)
    machine.writes("/etc/kubernetes/kubelet.conf", "    server: https://192.0.2.1:6443\n")
    found = machine.problems(address="10.0.0.9")
    wanted = ("Debian 9", "armv7l", "4.9.0-19-amd64", "10.0.0.9", "MiB left", "https://192.0.2.1:6443")
    assert [word for line in found for word in wanted if word in line] == list(wanted)
    assert len(found) == len(wanted)
    assert any("10.0.0.1/24" in line for line in found)


@pytest.mark.parametrize(
    ("system", "version", "known"), [("ubuntu", "24.04", True), ("debian", "1", False), ("ubuntu", "2", False)]
)
def test_systems_that_are_not_in_the_list(machine: Machine, system: str, version: str, known: bool) -> None:
    machine.writes("/etc/os-release", f'ID={system}\nVERSION_ID="{version}"\nPRETTY_NAME="Something else"\n')
    said = "the system is Something else: Debian 12 and Ubuntu 24.04 are known to work"
    assert machine.problems() == ([] if known else [said])


@pytest.mark.parametrize(
    ("kernel", "fine"), [("5.4.0-150-generic", False), ("5.13.0", True), ("6.8.0-45-generic", True)]
)
def test_kernels_that_kube_proxy_refuses(machine: Machine, kernel: str, fine: bool) -> None:
    machine.tool("uname", f"case $1 in -r) echo {kernel} ;; *) echo x86_64 ;; esac")
    assert (machine.problems() == []) == fine


def test_a_disk_is_full_where_too_little_is_left_for_what_comes(machine: Machine) -> None:
    machine.has_room(kib=100_000_000, free=50 * 1024)
    (found,) = machine.problems(free="51", node="")
    assert "50 MiB" in found
    assert machine.problems(free="50", node="") == []


def test_a_disk_is_full_where_the_kubelet_would_take_no_pods(machine: Machine) -> None:
    machine.has_room(kib=100_000_000, free=99 * 1024)
    room = {"free": "50", "images_free": "100", "kubelet_free": "99"}
    (found,) = machine.problems(**room)
    assert "99 MiB left, and 100 are needed for the kubelet to take pods" in found
    assert "containerd" in found
    assert machine.problems(**room | {"images_free": "99"}) == []
    assert machine.problems(node="", **room) == [], "a gateway runs no kubelet"
    machine.writes(CERTIFICATE, "")
    machine.tool("openssl", "echo '    commonName                = lab nodes'")
    assert machine.problems(**room) == [], "one that runs looks after its images itself"
    assert "fact node" in machine.says(**room)


@pytest.mark.parametrize(
    ("adapters", "layers", "rdma", "said"),
    [
        ((), (), "", ""),
        ((), (), "roce", "no Mellanox adapter is on the PCI bus"),
        ((("0x15b3", "0x010802"), ("0x1d0f", "0x020000")), (), "roce", "no Mellanox adapter is on the PCI bus"),
        ((("0x15b3", "0x020000"),), (), "infiniband", ""),
        ((("0x15b3", "0x020700"),), ("InfiniBand", "Ethernet"), "infiniband", ""),
        ((("0x15b3", "0x020000"),), ("Ethernet",), "infiniband", "no port of its adapters is InfiniBand"),
        ((("0x15b3", "0x020700"),), ("InfiniBand",), "roce", "no port of its adapters is Ethernet"),
    ],
)
def test_adapters_of_an_rdma_network(
    machine: Machine, adapters: tuple[tuple[str, str], ...], layers: tuple[str, ...], rdma: str, said: str
) -> None:
    for index, (vendor, kind) in enumerate(adapters):
        machine.writes(f"/sys/bus/pci/devices/{index}/vendor", f"{vendor}\n")
        machine.writes(f"/sys/bus/pci/devices/{index}/class", f"{kind}\n")
    for index, layer in enumerate(layers):
        machine.writes(f"/sys/class/infiniband/mlx5_{index}/ports/1/link_layer", f"{layer}\n")
    found = machine.problems(rdma=rdma, rdma_place="hosts, gpu-0")
    assert [said in line and "hosts, gpu-0" in line for line in found] == ([True] if said else [])
    machine.writes(CERTIFICATE, "")
    machine.tool("openssl", "echo '    commonName                = lab nodes'")
    assert machine.problems(rdma=rdma) == [], "a node is repaired in spite of it"
    assert any(line.startswith("unhealthy") for line in machine.says(rdma=rdma)) is bool(said)


@pytest.mark.parametrize("path", KUBECONFIGS)
@pytest.mark.parametrize("line", ["    server: {}", '    server: "{}"', '        "server": "{}",'])
def test_a_machine_of_another_cluster_is_refused(machine: Machine, path: str, line: str) -> None:
    machine.writes(path, f"clusters:\n- cluster:\n{line.format(API)}\n  name: own\n")
    assert machine.problems() == []
    machine.writes(path, f"clusters:\n- cluster:\n{line.format('https://192.0.2.1:6443')}\n  name: other\n")
    (found,) = machine.problems()
    assert "another cluster" in found
    assert f"{path} leads to https://192.0.2.1:6443, not to {API}" in found


def test_a_certificate_of_another_clusters_authority_is_refused(machine: Machine) -> None:
    for subject in ("lab nodes", "kubernetes"):
        key, made = machine.folder / "key", machine.folder / "made.pem"
        argv = ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", f"/O=system:nodes/CN={subject}"]
        subprocess.run([*argv, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
        machine.writes(CERTIFICATE, made.read_text())
        found = machine.problems()
        assert len(found) == (subject != "lab nodes")
    assert "is of kubernetes, not of lab nodes" in found[0]


def test_packets_that_do_not_reach_the_gateway_whole(machine: Machine) -> None:
    machine.tool(
        "ping", 'case $* in *"-s 1372 "*) echo "ping: local error: message too long, mtu=1300" >&2; exit 1 ;; esac'
    )
    (found,) = machine.problems(gateways="10.0.0.2")
    assert found.startswith("packets of 1400 bytes do not get to the gateway 10.0.0.2 (mtu=1300)")
    assert machine.problems(gateways="10.0.0.2", node="") == []


def test_one_lost_packet_is_no_matter(machine: Machine) -> None:
    machine.tool("ping", f"test -e {machine.folder}/lost || {{ touch {machine.folder}/lost; exit 1; }}")
    assert machine.problems(gateways="10.0.0.2") == []


@pytest.mark.parametrize(
    ("source", "fine"), [("10.0.15.9", True), ("10.0.3.1", True), ("10.0.9.9", False), ("fe80::1", False)]
)
def test_nobody_locks_themselves_out(machine: Machine, source: str, fine: bool) -> None:
    """The one who comes in is known though sudo takes SSH's variables from those that it starts."""
    sudo = """/bin/sh -c 'env --unset=SSH_CONNECTION /bin/sh "$@"; exit $?' sh "$@\""""
    machine.tool("sh", f"exec env SSH_CONNECTION='{source} 40000 10.0.0.1 22' {sudo}")
    found = machine.problems(ssh="10.0.15.0/24 10.0.3.1/32")
    assert [source in line and "access.operators_inside" in line for line in found] == ([] if fine else [True])


def test_a_gateway_that_does_not_answer_yet_is_no_problem_of_the_node(machine: Machine) -> None:
    machine.tool("ping", "exit 1")
    assert machine.problems(gateways="10.0.0.2") == []


DUPLICATE = module_at(FILES / "duplicate.py")
OWN, OTHER = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
ADDRESS = socket.inet_aton("10.0.0.1")


def test_a_probe_names_no_sender() -> None:
    frame = DUPLICATE.probe(OWN, ADDRESS)
    assert frame.hex() == "ffffffffffff02000000000108060001080006040001020000000001000000000000000000000a000001"
    assert DUPLICATE.holder(frame, ADDRESS) is None


def test_who_claims_the_address_is_known_by_any_arp() -> None:
    answer = OWN + OTHER + bytes.fromhex("08060001080006040002") + OTHER + ADDRESS + OWN + bytes(4)
    assert DUPLICATE.holder(answer, ADDRESS) == OTHER
    assert DUPLICATE.holder(answer, socket.inet_aton("10.0.0.2")) is None
    assert DUPLICATE.holder(answer[:40], ADDRESS) is None
    assert DUPLICATE.holder(answer.replace(b"\x08\x06", b"\x86\xdd"), ADDRESS) is None


@pytest.mark.lab
@pytest.mark.parametrize("theirs", ["10.250.0.1", "10.250.0.2"])
def test_another_machine_with_the_address_answers(tmp_path: Path, theirs: str) -> None:
    """Runs on a real segment: two interfaces, each in its own network namespace."""
    script = f"""
      ip link set lo up; ip link add near type veth peer name far
      unshare --net sleep 600 & other=$!
      until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
      ip link set far netns $other
      ip address add 10.250.0.1/24 dev near; ip link set near up
      nsenter --net --target $other sh -c 'ip address add {theirs}/24 dev far; ip link set far up'
      until grep -q up /sys/class/net/near/operstate; do :; done
      {sys.executable} {FILES / "duplicate.py"} 10.250.0.1; kill $other
    """
    argv = ["unshare", "--net", "--mount", "sh", "-c", f"mount -t sysfs none /sys && {{ {script} }}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert ("has 10.250.0.1 as well" in done.stdout) == (theirs == "10.250.0.1"), done.stdout + done.stderr


def test_the_inventory_says_what_the_role_asks_for(root: Path) -> None:
    environment = load(root / "examples" / "Pulumi.prod.yaml")
    found = inventory(
        environment, Reach(known_hosts=Path("/k"), control_folder=Path("/c"), user="root", key=None), more={}
    )
    everywhere = found["all"]["vars"]
    assert everywhere["inside_mtu"] == 1400
    assert everywhere["node_authority"] in {one.common_name for one in authorities(environment) if one.name == NODES}
