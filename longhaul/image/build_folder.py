"""Temporary files of a bake: its SSH key, Packer's variables, and the program that runs the playbook.

All of them are in one folder, which is deleted after the bake.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.image.bake import Bake
from longhaul.image.sources import commit, sources_digest
from longhaul.toolchain.spec import repository

PLAYBOOKS = repository() / "playbooks"

_DRIVER = {"nvidia_driver_modules": "open", "nvidia_driver_switches": "some"}
"""Driver settings of an image for GPUs, which is baked on a machine without GPUs: kernel modules for all GPUs that
clouds still offer except the oldest, and the fabric manager for machine types with NVSwitches."""


@dataclass(frozen=True, kw_only=True)
class BuildFolder:
    """The folder of a bake, and its files."""

    folder: Path
    variables: Path
    """Path of Packer's ``-var-file``."""
    result: Path
    """Path of the file in which Packer records what it made."""
    manifest: Path
    """Path to which the playbook copies the image's manifest."""


@contextmanager
def build_folder(bake: Bake) -> Iterator[BuildFolder]:
    """Create the folder, and delete it after the block."""
    with tempfile.TemporaryDirectory(prefix="longhaul-bake-") as name:
        folder = Path(name)
        shop = BuildFolder(
            folder=folder,
            variables=folder / "bake.pkrvars.json",
            result=folder / "result.json",
            manifest=folder / "manifest.json",
        )
        key = folder / "key"
        public = _make_key(key)
        made_by = {"commit": commit(), "sources": sources_digest()}
        program = folder / "playbook"
        _write_json(folder / "playbook.json", _of_ansible(bake, shop, key, made_by))
        program.write_text(_program(folder / "playbook.json", key), encoding="utf-8")
        program.chmod(0o700)
        provenance = {
            "commit": made_by["commit"],
            "sources_digest": made_by["sources"],
            "ssh_private_key_file": str(key),
            "ssh_public_key": public,
            "playbook_command": str(program),
            "result": str(shop.result),
        }
        _write_json(shop.variables, {**bake.variables, **provenance})
        yield shop


def _make_key(path: Path) -> str:
    """Write a private key that only its owner can read, and return the public key. It is RSA, the only type that
    Azure's API documents (learn.microsoft.com, ``SshPublicKey``)."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=3072)
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() + " longhaul-bake"


def _of_ansible(bake: Bake, shop: BuildFolder, key: Path, made_by: dict[str, str]) -> dict[str, Any]:
    """Return the playbook's variables. SSH accepts the new machine's host key on first contact, since it cannot be
    known before; after that the key must not change."""
    hosts = shop.folder / "known_hosts"
    options = f"-o UserKnownHostsFile={hosts} -o StrictHostKeyChecking=accept-new -o IdentitiesOnly=yes"
    return {
        "ansible_ssh_private_key_file": str(key),
        "ansible_ssh_common_args": options,
        "purpose": bake.kind,
        "versions": bake.versions,
        **(_DRIVER if bake.kind == "gpu" else {}),
        "release": {"version": bake.version, "copy_to": str(shop.manifest), **made_by},
        **(_depot(bake) if bake.depot else {}),
    }


def _depot(bake: Bake) -> dict[str, str]:
    return {"depot": bake.depot, "depot_key": bake.depot_key, "depot_authority": bake.depot_authority}


def _program(variables: Path, key: Path) -> str:
    """Return the text of a program that takes HOST PORT USER and runs the playbook."""
    ansible = Path(sys.executable).with_name("ansible-playbook")
    words = [str(ansible), "--private-key", str(key), "--extra-vars", f"@{variables}"]
    place = """--inventory "$1," --extra-vars "ansible_port=$2" --user "$3" """
    return (
        "#!/bin/sh\n"
        f"ANSIBLE_CONFIG={shlex.quote(str(PLAYBOOKS / 'ansible.cfg'))}\nexport ANSIBLE_CONFIG\n"
        f"exec {shlex.join(words)} {place}{shlex.quote(str(PLAYBOOKS / 'image.yml'))}\n"
    )


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
