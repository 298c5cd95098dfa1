"""``longhaul image build`` for an environment that is a lab: it prints the lab's image, and Packer is not started."""

from __future__ import annotations

import json
from pathlib import Path

from longhaul.terminal.exits import Exit
from tests.longhaul.conftest import Checkout
from tests.longhaul.image.conftest import FakePacker

AWS = ("image", "build", "--env", "dev", "--site", "use1")


def lab(checkout: Checkout, tmp_path: Path) -> Path:
    """Make a lab of the environment that was started once; return its node image."""
    folder = checkout.path / ".lab" / "dev"
    folder.mkdir(parents=True)
    (folder / "enter").touch()
    image = tmp_path / "image" / "node-1"
    (image / "rootfs").mkdir(parents=True)
    config = {"rootfs": str(image / "rootfs"), "operators": "10.64.0.0/24", "supernet": "10.64.0.0/12", "port": 1}
    (folder / "config.json").write_text(json.dumps(config))
    return image


def test_a_labs_image_is_told_and_nothing_is_baked(checkout: Checkout, packer: FakePacker, tmp_path: Path) -> None:
    image = lab(checkout, tmp_path)
    manifest = {"version": "bookworm-0123456789abcdef", "kind": "node", "digest": "e" * 64}
    (image / "manifest.json").write_text(json.dumps(manifest))
    done = checkout.run(*AWS, "--json")
    assert done.returncode == Exit.OK, done.stderr
    found = json.loads(done.stdout)
    assert (found["version"], found["image"]) == (manifest["version"], str(image / "rootfs"))
    assert found["manifest"] == str(image / "manifest.json")
    assert "make lab" in done.stderr
    assert not packer.was_started()
    refused = checkout.run(*AWS, "--kind", "gpu")
    assert refused.returncode == Exit.USAGE
    assert "no gpu image" in refused.stderr


def test_a_lab_without_an_image_says_how_to_get_one(checkout: Checkout, packer: FakePacker, tmp_path: Path) -> None:
    lab(checkout, tmp_path)
    done = checkout.run(*AWS)
    assert done.returncode == Exit.FAILED
    assert "make lab ENV=dev" in done.stderr
