"""The image's tree: its units are valid for systemd, and its programs exist and start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from restore.record import FOLDER

from contract.lifetimes import NODE_CERTIFICATE_DAYS
from tests.support.programs import write_program

PINNED = (
    "containerd",
    "coredns",
    "etcd",
    "etcdctl",
    "jobset",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "kueue",
)
DEBIAN = (
    "/bin/sh",
    "/lib/systemd/systemd-sysctl",
    "/sbin/modprobe",
    "/usr/bin/env",
    "/usr/bin/install",
    "/usr/bin/mountpoint",
    "/usr/bin/openssl",
    "/usr/bin/python3",
    "/usr/bin/systemctl",
    "/usr/sbin/nft",
    "/usr/sbin/openvpn",
)
BESIDE_UNITS = {
    "containerd.signed_depot",  # containerd
    "gpu.preflight",  # gpu/preflight_run.py, role preflight
    "machine.image_manifest",  # role image_manifest
    "machine.longhaul_node",  # operators
    "vpn.verify",  # OpenVPN
}
"""Programs that something else than a unit starts."""


@pytest.fixture(name="tree")
def _tree(rootfs: Path, tmp_path: Path) -> Path:
    """The tree with systemd's own units, and a stand-in for each binary that the image gets from elsewhere."""
    tree = tmp_path / "tree"
    shutil.copytree(rootfs, tree, symlinks=True)
    own = next(folder for folder in map(Path, ("/usr/lib/systemd/system", "/lib/systemd/system")) if folder.is_dir())
    shutil.copytree(own, tree / "usr/lib/systemd/system", symlinks=True, dirs_exist_ok=True)
    for path in (*(f"/usr/local/bin/{name}" for name in PINNED), *DEBIAN):
        write_program(tree / path.removeprefix("/"), "#!/bin/sh\n")
    return tree


def units(rootfs: Path) -> Iterator[str]:
    for path in sorted((rootfs / "etc/systemd/system").iterdir()):
        yield path.name


def verify(tree: Path, *names: str) -> str:
    command = ["systemd-analyze", "verify", "--man=no", f"--root={tree}", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr + (f"exit code {done.returncode}" if done.returncode else "")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_any_unit(rootfs: Path, tree: Path) -> None:
    assert verify(tree, *units(rootfs)) == ""


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_targets_start_at_boot_beside_cloud_init(rootfs: Path, tree: Path) -> None:
    """With cloud-init's order in Debian 12 (cloud-init 22.4.2, systemd/cloud-init.service): between the network and
    sysinit.target."""
    (tree / "etc/systemd/system/cloud-init.service").write_text(
        "[Unit]\nDefaultDependencies=no\nAfter=systemd-networkd-wait-online.service\n"
        "Wants=systemd-networkd-wait-online.service\nBefore=network-online.target sysinit.target\n"
        "[Service]\nType=oneshot\nExecStart=/bin/sh -c :\n"
    )
    targets = " ".join(unit for unit in units(rootfs) if unit.endswith(".target"))
    (tree / "etc/systemd/system/boot.target").write_text(f"[Unit]\nWants=cloud-init.service {targets}\n")
    assert verify(tree, "boot.target") == ""


def test_nothing_on_a_vpn_machine_that_strangers_talk_to_asks_the_metadata_service(rootfs: Path) -> None:
    for unit in ("longhaul-vpn", "longhaul-vpn-door", "longhaul-vpn-proxy", "longhaul-vpn-signer@"):
        text = (rootfs / f"etc/systemd/system/{unit}.service").read_text()
        assert "\nIPAddressDeny=169.254.169.254 168.63.129.16\n" in text, unit
        assert "\nSystemCallFilter=@system-service\n" in text, unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("RestartSec=", "RestartSeconds=", "RestartSeconds"),
        ("Type=notify", "Type=notified", "notified"),
        ("/usr/local/bin/etcd", "/usr/local/bin/etcdd", "etcdd"),
        ("longhaul-local-ssd.service", "longhaul-local-disk.service", "longhaul-local-disk.service"),
    ],
)
def test_the_check_itself_finds_mistakes(tree: Path, old: str, new: str, says: str) -> None:
    unit = tree / "etc/systemd/system/etcd.service"
    unit.write_text(unit.read_text().replace(old, new))
    assert says in verify(tree, "etcd.service")


def test_every_own_unit_that_is_named_exists(rootfs: Path) -> None:
    folder = rootfs / "etc/systemd/system"
    for unit in units(rootfs):
        text = (folder / unit).read_text()
        named = set(re.findall(r"\b(?:longhaul|etcd|kube)[a-z-]*\.(?:service|target|timer)\b", text))
        assert {name for name in named if not (folder / name).exists()} == set(), unit


def test_units_wait_while_a_restore_is_half_done(rootfs: Path) -> None:
    waiting = {"hold": ("etcd", "kube-apiserver"), "record": ("longhaul-backup",)}
    for file, names in waiting.items():
        for name in names:
            text = (rootfs / f"etc/systemd/system/{name}.service").read_text()
            assert f"\nConditionPathExists=!{FOLDER / file}\n" in text.partition("[Service]")[0], name


def test_one_program_signs_for_nodes_and_for_nobody_else(rootfs: Path) -> None:
    folder = rootfs / "etc/systemd/system"
    text = (folder / "kube-node-signer.service").read_text()
    flags = dict(re.findall(r"^  --(cluster-signing\S*?|controllers|leader-elect)=(\S+)", text, flags=re.MULTILINE))
    own = {flag for flag, value in flags.items() if value == "/etc/longhaul/pki/nodes-authority.pem"}
    pairs = {
        f"cluster-signing-kubelet-{kind}-{file}-file" for kind in ("client", "serving") for file in ("cert", "key")
    }
    assert own == pairs
    assert {name: value for name, value in flags.items() if name not in own} == {
        "cluster-signing-duration": f"{NODE_CERTIFICATE_DAYS * 24}h",
        "controllers": "certificatesigningrequest-signing-controller",
        "leader-elect": "false",
    }
    (switched,) = re.findall(r"--controllers=(\S+)", (folder / "kube-controller-manager.service").read_text())
    off = {"-certificatesigningrequest-signing-controller", "-certificatesigningrequest-approving-controller"}
    assert off <= set(switched.split(","))
    named = {unit for unit in units(rootfs) if "nodes-authority" in (folder / unit).read_text()}
    assert named == {"kube-node-signer.service"}


def test_every_account_that_a_unit_runs_as_is_made(rootfs: Path) -> None:
    made = set(re.findall(r"^u (\S+)", (rootfs / "usr/lib/sysusers.d/longhaul.conf").read_text(), flags=re.MULTILINE))
    for unit in units(rootfs):
        text = (rootfs / "etc/systemd/system" / unit).read_text()
        assert set(re.findall(r"^(?:User|Group)=(.+)$", text, flags=re.MULTILINE)) <= made, unit


def test_programs_can_be_started(rootfs: Path) -> None:
    library = rootfs / "usr/local/lib/longhaul"
    assert os.access(library / "longhaul-program", os.X_OK)
    started = {name for path in (rootfs / "etc/systemd/system").iterdir() for name in _programs(path.read_text())}
    assert started | BESIDE_UNITS == {
        ".".join(path.relative_to(library).with_suffix("").parts)
        for path in library.glob("*/*.py")
        if re.search(r"^def main\((\)|argv: .*= None)", path.read_text(), flags=re.MULTILINE)
    }


def _programs(unit: str) -> set[str]:
    return set(re.findall(r"/usr/local/lib/longhaul/longhaul-program ([\w.]+)", unit))


def test_the_operators_command_finds_its_modules(rootfs: Path) -> None:
    command = [rootfs / "usr/local/bin/longhaul-node", "--help"]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(rootfs.parents[1])}  # for the contract
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", env=environ)
    assert done.returncode == 0, done.stderr
    assert "cluster" in done.stdout


def test_programs_need_nothing_but_python(rootfs: Path) -> None:
    """Only python3-cryptography is allowed besides; the image has it."""
    library = rootfs / "usr/local/lib/longhaul"
    own = {path.stem for path in library.glob("*.py")} | {path.parent.name for path in library.glob("*/__init__.py")}
    own |= {"contract"}
    for path in library.rglob("*.py"):
        imported = set(re.findall(r"^(?:from|import) (\w+)", path.read_text(), flags=re.MULTILINE))
        assert imported <= own | sys.stdlib_module_names | {"cryptography"}, path.name
    # Our modules must not hide one of the standard library: their folder comes first on the path.
    assert own & sys.stdlib_module_names == set()


def test_the_audit_policy_writes_no_bodies(rootfs: Path) -> None:
    policy = yaml.safe_load((rootfs / "usr/local/share/longhaul/audit-policy.yaml").read_text())
    assert {rule["level"] for rule in policy["rules"]} == {"None", "Metadata"}
    assert policy["rules"][-1] == {"level": "Metadata"}
