"""The image that the same playbook bakes of Ubuntu 24.04: what its own programs say of it. Needs one of Ubuntu's
archives."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from lab import image
from lab.image import LabImages
from longhaul.artifacts import image_contents
from longhaul.toolchain import debian
from longhaul.toolchain.spec import repository

pytestmark = [pytest.mark.lab, pytest.mark.drill]

UPGRADERS = ("apt", "base-files", "ubuntu-pro-client", "unattended-upgrades", "update-notifier-common")
"""Packages with timers that fetch or install packages, or news of them."""
TREE = repository() / "images" / "rootfs"


@pytest.fixture(scope="module", name="baked")
def _baked(tmp_path_factory: pytest.TempPathFactory) -> LabImages:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    sources = image.load_sources(operating_system="ubuntu-24.04")
    return image.bake(log_dir=tmp_path_factory.mktemp("log"), progress=print, sources=sources)


def said(root: Path, *argv: str) -> str:
    """Return what a program of the image prints, streams together."""
    done = subprocess.run(["chroot", str(root), *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode()


def test_it_is_ubuntu_with_every_package_and_binary(baked: LabImages) -> None:
    wanted = image_contents.load(operating_system="ubuntu-24.04")
    assert baked.manifest["suite"] == "noble"
    assert 'VERSION_ID="24.04"' in (baked.node / "etc/os-release").read_text()
    assert {*wanted.bare, *wanted.node} <= set(baked.manifest["packages"])
    assert {*wanted.bare, *wanted.gateway} <= set(debian.package_versions(baked.gateway))
    assert {"containerd", "kubelet", "etcd", "kube-apiserver"} <= set(baked.manifest["binaries"])


def test_no_timer_of_what_upgrades_fires(baked: LabImages) -> None:
    lists = [(baked.node / f"var/lib/dpkg/info/{name}.list").read_text() for name in UPGRADERS]
    timers = sorted({Path(line).name for text in lists for line in text.splitlines() if line.endswith(".timer")})
    assert {"apt-daily.timer", "motd-news.timer", "ua-timer.timer", "update-notifier-motd.timer"} <= set(timers)
    for unit in (*timers, "unattended-upgrades.service", "ubuntu-advantage.service"):
        assert said(baked.node, "systemctl", "is-enabled", unit).endswith("masked\n"), unit


def test_ubuntus_own_settings_of_apt_do_not_win(baked: LabImages) -> None:
    assert 'Unattended-Upgrade "1"' in (baked.node / "etc/apt/apt.conf.d/20auto-upgrades").read_text()
    found = dict(re.findall(r'^APT::Periodic::(\S+) "(.*)";$', said(baked.node, "apt-config", "dump"), re.MULTILINE))
    assert {found[name] for name in ("Enable", "Unattended-Upgrade", "Update-Package-Lists")} == {"0"}


def test_needrestart_restarts_nothing_in_ubuntus_mode(baked: LabImages) -> None:
    """Ubuntu's own mode, ``-m u``, restarts unless a setting of ours says otherwise."""
    program = (
        "our (%nrconf, $LOGPREF) = (verbosity => 0); do '/etc/needrestart/needrestart.conf'; print $nrconf{restart}"
    )
    assert said(baked.node, "perl", "-e", program) == "l"
    assert "if(defined $nrconf{restart})" in (baked.node / "usr/sbin/needrestart").read_text()


def test_its_systemd_understands_every_unit_of_ours(baked: LabImages) -> None:
    units = [path.name for path in (TREE / "etc/systemd/system").iterdir() if path.is_file()]
    lines = said(
        baked.node, "systemd-analyze", "verify", "--man=no", *(f"/etc/systemd/system/{name}" for name in units)
    )
    assert [line for line in lines.splitlines() if any(name in line for name in units)] == []


def test_its_python_compiles_every_program_of_ours_without_a_warning(baked: LabImages) -> None:
    program = "import pathlib, sys; [compile(pathlib.Path(path).read_bytes(), path, 'exec') for path in sys.argv[1:]]"
    paths = [f"/{path.relative_to(TREE)}" for path in TREE.rglob("*.py")]
    assert said(baked.node, "python3", "-W", "error", "-c", program, *paths) == ""


def test_pods_rules_and_ours_are_of_one_kind(baked: LabImages) -> None:
    """kube-proxy's and ours are nftables; the CNI plugin portmap calls iptables."""
    assert said(baked.node, "iptables", "--version").endswith("(nf_tables)\n")
    assert (baked.node / "usr/lib/cni/portmap").exists()
