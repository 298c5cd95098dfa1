"""Digest and commit of an image's sources, and the playbook's program, which really runs Ansible."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clouds.base.images import BakeOptions
from components.model import load
from longhaul.image.bake import Bake, plan_bake
from longhaul.image.build_folder import build_folder
from longhaul.image.sources import PACKAGES, commit, sources_digest
from longhaul.toolchain import services
from tests.support.modules import module_at
from tests.support.project import REPOSITORY


def bake() -> Bake:
    environment = load(REPOSITORY / "stacks" / "Pulumi.lab.yaml")
    return plan_bake(environment, BakeOptions(site="use1"), now=datetime(2026, 11, 3, 9, 5, tzinfo=UTC))


def test_a_version_of_the_clock_is_one_that_azure_takes() -> None:
    assert bake().version == "2026.1103.905"


def test_the_playbooks_program_takes_host_port_and_user(tmp_path: Path) -> None:
    """Nothing answers at the address. That the program reports it means that Ansible accepted the playbook, its
    variables and the key."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with build_folder(bake()) as shop:
        done = subprocess.run(
            [str(shop.folder / "playbook"), "127.0.0.1", str(port), "somebody"],
            capture_output=True,
            text=True,
            check=False,
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TMPDIR": str(tmp_path)},
        )
    said = done.stdout + done.stderr
    assert done.returncode == 4, said
    assert "UNREACHABLE" in said
    assert f"connect to host 127.0.0.1 port {port}" in said


def test_an_image_for_gpus_is_made_where_there_are_none() -> None:
    """Shown by the role's own decision for such a machine, with the image's system."""
    environment = load(REPOSITORY / "stacks" / "Pulumi.lab.yaml")
    gpu = plan_bake(environment, BakeOptions(site="use1", kind="gpu"), now=datetime(2026, 11, 3, 9, 5, tzinfo=UTC))
    with build_folder(gpu) as shop:
        told = json.loads((shop.folder / "playbook.json").read_text())
    pins = tomllib.loads((REPOSITORY / "images" / "operating_systems.toml").read_text())
    role = module_at(REPOSITORY / "playbooks" / "filter_plugins" / "nvidia.py")
    prefix = "nvidia_driver_"
    wanted = {"kernel": "", "upgrade": False, "disturb": False}
    wanted |= {name.removeprefix(prefix): value for name, value in told.items() if name.startswith(prefix)}
    bare = {"system": "ubuntu-24.04", "gpus": [], "switches": 0, "kernels": ["6.8.0-60-generic"], "running": ""}
    bare |= {"booted": True, "headers": [], "packages": {}, "loaded": "", "users": [], "secure_boot": False}
    found = role.nvidia_plan(bare, pins, wanted)
    assert (found["problems"], found["kind"]) == ([], "open")
    assert found["fabric"] == pins["ubuntu-24.04"]["nvidia"]["fabric_manager"]


@pytest.fixture(name="checkout_of_images")
def _checkout_of_images(tmp_path: Path) -> Path:
    """Sources of images, in a repository of their own."""
    root = tmp_path / "checkout"
    for name in ("playbooks", "images", *services.FOLDERS):
        shutil.copytree(REPOSITORY / name, root / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tools.toml", *PACKAGES):
        shutil.copy(REPOSITORY / name, root)
    (root / "README.md").write_text("a\n")
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=all")
    return root


def git(root: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_digest_is_of_what_makes_images_and_of_nothing_else(checkout_of_images: Path) -> None:
    root = checkout_of_images
    first = sources_digest(root)
    (root / "README.md").write_text("b\n")
    (root / "playbooks" / "site.yml").write_text("[]\n")
    (root / "images" / "rootfs" / "usr" / "local" / "lib" / "__pycache__").mkdir(parents=True)
    (root / "images" / "rootfs" / "usr" / "local" / "lib" / "__pycache__" / "a.pyc").touch()
    assert sources_digest(root) == first
    changed = set()
    for name in (
        "tools.toml",
        "contract/labels.py",
        "images/image.toml",
        "images/packer/aws.pkr.hcl",
        "playbooks/roles/rootfs/tasks/main.yml",
        "services/autoscaler/scaling_decision.py",
    ):
        path = root / name
        path.write_text(path.read_text() + "\n")
        changed.add(sources_digest(root))
    assert len(changed | {first}) == 7


def test_the_commit_says_when_it_is_not_all(checkout_of_images: Path, tmp_path: Path) -> None:
    root = checkout_of_images
    head = git(root, "rev-parse", "HEAD")
    (root / "README.md").write_text("b\n")
    assert commit(root) == head
    (root / "images" / "image.toml").write_text("")
    assert commit(root) == f"{head}-dirty"
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(REPOSITORY / "tools.toml", tmp_path / "elsewhere")
    assert commit(tmp_path / "elsewhere") == "unknown"
