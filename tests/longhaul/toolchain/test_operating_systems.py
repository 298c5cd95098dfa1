"""Operating systems of machines: the table, who reads it, and whose signatures are believed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from longhaul.artifacts import image_contents
from longhaul.artifacts.nvidia_driver import DriverRequest, driver_packages, drivers
from longhaul.roll.host_pins import host_pins
from longhaul.toolchain import debian
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.operating_systems import by_name, operating_systems
from tests.support.gpg import gpg, needs_gpg

ANOTHER = """
[debian-13]
title = "Debian 13"
suite = "trixie"
components = ["main"]
keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
bare = ["netplan.io"]

[debian-13.nvidia]
branch = "570"
open = ["nvidia-open-kernel-dkms"]
proprietary = ["nvidia-kernel-dkms"]
libraries = ["libcuda1"]
headers = "linux-headers-{kernel}"
fabric_manager = "nvidia-fabricmanager-570"
persistence_user = "nvpd"
"""


@pytest.fixture(name="checkout", scope="module")
def _checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with another operating system, which is written in one place."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(root / "images", folder / "images", symlinks=True)
    for name in ("roles/preflight", "filter_plugins"):
        shutil.copytree(root / "playbooks" / name, folder / "playbooks" / name)
    with (folder / "images" / "operating_systems.toml").open("a", encoding="utf-8") as file:
        file.write(ANOTHER)
    return folder


def test_images_can_be_made_of_another(checkout: Path) -> None:
    contents = image_contents.load(checkout, operating_system="debian-13")
    assert contents.suite == "trixie"
    assert {*image_contents.load(checkout).bare, "netplan.io"} == set(contents.bare)


def test_its_driver_is_known(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = DriverRequest(suite="trixie", kernel="6.12", kind="")
    packages = ["linux-headers-6.12", "nvidia-open-kernel-dkms", "libcuda1"]
    assert driver_packages(request, drivers(checkout)) == [("trixie", name) for name in packages]
    monkeypatch.setattr("longhaul.roll.host_pins.pinned_drivers", lambda: drivers(checkout))
    assert host_pins(frozenset(), {}).branches["debian-13"] == "570"


def test_preflight_lets_its_hosts_in(checkout: Path, tmp_path: Path) -> None:
    """The role's own arguments for its probe name it, and so does the table of the driver's role."""
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "connection": "local",
            "tasks": [
                {"ansible.builtin.include_vars": {"file": str(checkout / "playbooks/roles/preflight/vars/main.yml")}},
                {
                    "ansible.builtin.debug": {"msg": "{{ preflight_arguments[:2] | join('|') }}"},
                    "vars": {"role_path": str(checkout / "playbooks/roles/preflight")},
                },
            ],
        }
    ]
    path = tmp_path / "play.yml"
    path.write_text(yaml.safe_dump(play), encoding="utf-8")
    (tmp_path / "filter_plugins").symlink_to(checkout / "playbooks/filter_plugins")
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([ansible, str(path)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    titles = "systems_titles=Debian 12 and Ubuntu 24.04 and Debian 13"
    assert f"systems=debian-12 ubuntu-24.04 debian-13|{titles}" in done.stdout


def test_the_default_is_debian_and_the_same_file_has_ubuntu() -> None:
    default, other = image_contents.load(), image_contents.load(operating_system="ubuntu-24.04")
    assert (default.operating_system.name, default.suite) == ("debian-12", "bookworm")
    assert (other.operating_system.name, other.suite) == ("ubuntu-24.04", "noble")
    assert (default.node, default.gateway, default.node_tools) == (other.node, other.gateway, other.node_tools)
    assert set(default.bare) < set(other.bare)


def test_an_unknown_one_is_refused_by_name() -> None:
    known = "debian-12, ubuntu-24.04"
    with pytest.raises(SetupError, match=f"'fedora' is no operating system that images are made of: {known}"):
        image_contents.load(operating_system="fedora")


def test_an_incomplete_table_is_an_error_that_names_the_key(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    text = (checkout / "images/operating_systems.toml").read_text(encoding="utf-8")
    (tmp_path / "images/operating_systems.toml").write_text(text.replace('suite = "trixie"\n', ""), encoding="utf-8")
    with pytest.raises(SetupError, match=r"operating_systems\.toml: the key 'suite' is missing"):
        operating_systems(tmp_path)


@pytest.mark.parametrize("name", ["ubuntu-24.04", "debian-12"])
def test_mmdebstrap_is_told_of_components_and_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = by_name(name)
    told: list[str] = []

    def runs(argv: list[str], **_: object) -> None:
        told.extend(argv)
        sources = Path(argv[argv.index(of.suite) + 1]) / "etc/apt/sources.list"
        sources.parent.mkdir(parents=True)
        sources.touch()

    monkeypatch.setattr(debian, "run_logged", runs)
    debian.debootstrap(tmp_path, of=of, packages=["runc"], log=tmp_path / "log")
    expected = {
        "ubuntu-24.04": ["--components=main,universe", f"--keyring={of.key}"],
        "debian-12": ["--components=main"],
    }
    assert [word for word in told if word.startswith(("--components", "--keyring"))] == expected[name]


@needs_gpg
def test_ubuntus_key_is_the_pinned_one_and_no_other_is_with_it(tmp_path: Path) -> None:
    ubuntu = by_name("ubuntu-24.04")
    assert ubuntu.key is not None
    shown = gpg(tmp_path / "gpg", "--show-keys", "--with-colons", str(ubuntu.key)).splitlines()
    assert [line.split(":")[9] for line in shown if line.startswith("fpr:")] == [ubuntu.fingerprint]
