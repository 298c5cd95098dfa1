"""A real containerd with the configuration of ours, and a depot that shows another image under a name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.render.containerd import DEPOT_AUTHORITY, registry
from lab import tools
from lab.cloud.pki import ensure_pki
from longhaul.artifacts.serving import served
from longhaul.toolchain.spec import repository
from tests.support.gpg import needs_gpg
from tests.support.programs import write_program
from tests.support.project import eventually
from tests.support.signed_depot import IMAGE, Key, attacks, make_depot, two_keys

pytestmark = [
    needs_gpg,
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="containerd needs root"),
    pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb"),
]

ROOTFS = repository() / "images" / "rootfs"
VERIFIERS = ROOTFS / "usr/local/lib/longhaul/containerd/image_verifiers"
PROGRAM = ROOTFS / "usr/local/lib/longhaul/containerd/signed_depot.py"
SETTINGS = """
version = 3
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"]
[grpc]
address = "{folder}/socket"
[ttrpc]
address = "{folder}/socket.ttrpc"
[plugins.'io.containerd.image-verifier.v1.bindir']
bin_dir = "{verifiers}"
"""
WRAPPED = """#!/usr/bin/env python3
# What the machine has, with settings of a test.
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("verifier", "{program}")
module = importlib.util.module_from_spec(spec)
sys.dont_write_bytecode = True
sys.path.insert(0, "{project}")  # the contract lies beside the program on a machine
spec.loader.exec_module(module)
sys.exit(module.main(path=Path("{settings}")))
"""


class Node:
    """A containerd that pulls from one depot."""

    def __init__(self, folder: Path, ctr: Path, address: str, *, authority: Path | None) -> None:
        self._folder, self._ctr = folder, ctr
        hosts = folder / "hosts" / "_default"
        hosts.mkdir(parents=True)
        text = registry(address, own_authority=authority is not None).content
        (hosts / "hosts.toml").write_text(text.replace(DEPOT_AUTHORITY, str(authority)))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [str(self._ctr), "--address", str(self._folder / "socket"), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def pull(self, name: str) -> str:
        """Return the digest of the image that containerd has then; what it says when it has none."""
        done = self.run("images", "pull", "--hosts-dir", str(self._folder / "hosts"), name)
        listed = self.run("images", "list", f"name=={name}").stdout
        found = re.search(r"sha256:[0-9a-f]{64}", listed)
        return found[0] if found else done.stdout + done.stderr


@pytest.fixture(scope="module", name="containerd")
def _containerd(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tools.ensure(["containerd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.fixture(scope="module", name="keys")
def _keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Key, Key]]:
    with two_keys(tmp_path_factory) as keys:
        yield keys


@contextmanager
def node(
    folder: Path, binaries: dict[str, Path], address: str, *, key: str, authority: Path | None = None
) -> Iterator[Node]:
    """Run a containerd; without a ``key`` it has no verifier."""
    settings = {"url": address, "key": key, **({"authority": str(authority)} if authority else {})}
    (folder / "depot.json").write_text(json.dumps(settings))
    (folder / "verifiers").mkdir()
    if key:
        text = WRAPPED.format(project=repository(), program=PROGRAM, settings=folder / "depot.json")
        write_program(folder / "verifiers" / "signed-depot", text)
    (folder / "config.toml").write_text(SETTINGS.format(folder=folder, verifiers=folder / "verifiers"))
    made = Node(folder, binaries["ctr"], address, authority=authority)
    with (folder / "log").open("wb") as log:
        argv = [str(binaries["containerd"]), "--config", str(folder / "config.toml")]
        with subprocess.Popen(argv, stdout=log, stderr=log) as process:
            try:
                eventually(lambda: process.poll() is not None or made.run("version").returncode == 0)
                assert process.poll() is None, (folder / "log").read_text()
                yield made
            finally:
                process.terminate()


def digest_in(depot: Path) -> str:
    digest: str = json.loads((depot / "images/index.json").read_text())["manifests"][0]["digest"]
    return digest


def test_the_image_that_is_signed_for_is_pulled(
    containerd: dict[str, Path], keys: tuple[Key, Key], tmp_path: Path
) -> None:
    depot = make_depot(tmp_path / "depot", signer=keys[0])
    with served(depot) as address, node(tmp_path, containerd, address, key=keys[0].public) as ours:
        assert ours.pull(IMAGE) == digest_in(depot)


def test_an_image_with_another_digest_is_not(
    containerd: dict[str, Path], keys: tuple[Key, Key], tmp_path: Path
) -> None:
    good, evil = (
        make_depot(tmp_path / "good", signer=keys[0]),
        make_depot(tmp_path / "evil", content=b"evil", signer=None),
    )
    attacks(good, evil, keys[1])["the old lists"](tmp_path / "depot")
    with served(tmp_path / "depot") as address, node(tmp_path, containerd, address, key=keys[0].public) as ours:
        assert "blocked pull" in ours.pull(IMAGE)


def test_nothing_but_the_verifier_would_have_told(
    containerd: dict[str, Path], keys: tuple[Key, Key], tmp_path: Path
) -> None:
    evil = make_depot(tmp_path / "evil", content=b"evil", signer=None)
    with served(evil) as address, node(tmp_path, containerd, address, key="") as ours:
        assert ours.pull(IMAGE) == digest_in(evil)


@pytest.mark.parametrize("verifier", [True, False])
@pytest.mark.parametrize("right", [True, False])
def test_a_server_of_another_authority_is_asked_for_nothing(
    containerd: dict[str, Path], keys: tuple[Key, Key], tmp_path: Path, right: bool, verifier: bool
) -> None:
    """It serves the right depot. containerd refuses it by itself, before its verifier, which asks the same server."""
    ours, theirs = (ensure_pki(tmp_path / name, ("127.0.0.1",)) for name in ("ours", "theirs"))
    depot = make_depot(tmp_path / "depot", signer=keys[0])
    key = keys[0].public if verifier else ""
    with (
        served(depot, tls=(ours if right else theirs).server_context()) as address,
        node(tmp_path, containerd, address, key=key, authority=ours.ca_certificate) as one,
    ):
        said = one.pull(IMAGE)
    if right:
        assert said == digest_in(depot)
    else:
        assert "certificate signed by unknown authority" in said


def test_nodes_ask_the_verifier() -> None:
    """Every file of the folder is run, and the way of pulling that asks nobody is off."""
    config = tomllib.loads((ROOTFS / "etc/containerd/conf.d/10-longhaul.toml").read_text())
    plugins = config["plugins"]
    assert plugins["io.containerd.image-verifier.v1.bindir"]["bin_dir"] == f"/{VERIFIERS.relative_to(ROOTFS)}"
    assert {"io.containerd.image-verifier.v1.bindir", "io.containerd.transfer.v1.local"} <= set(
        config["required_plugins"]
    )
    assert not {"use_local_image_pull", "max_concurrent_downloads"} & set(
        plugins.get("io.containerd.cri.v1.images", {})
    )
    (verifier,) = VERIFIERS.iterdir()
    assert verifier.stat().st_mode & 0o111 == 0o111
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(repository())}  # for the contract
    done = subprocess.run([verifier, "--help"], capture_output=True, text=True, check=False, cwd="/", env=environ)
    assert "Tell containerd whether it may pull an image" in done.stdout, done.stderr
