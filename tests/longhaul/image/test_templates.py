"""The templates with the real Packer and its real plugins: valid and invalid values, and a build without a machine."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import tools
from longhaul.engine.execution import EngineResult
from longhaul.image import packer as packers
from longhaul.image.packer import PLUGINS, TEMPLATES, Packer, find_packer
from longhaul.toolchain.cache import cache_root
from longhaul.toolchain.spec import load
from tests.longhaul.conftest import LIMIT_S, Checkout
from tests.support.project import REPOSITORY

TEXT = "".join(path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.glob("*.pkr.hcl")))
SUBNETS = {
    "use1": "subnet-0123456789abcdef0",
    "weu": "/subscriptions/1/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s",
}


def test_the_templates_require_what_is_pinned() -> None:
    versions = {tool.name: tool.version for tool in load().tools}
    found = dict(re.findall(r'source  = "([^"]+)"\n +version = "= ([^"]+)"', TEXT))
    assert found == {source: versions[name] for source, name in PLUGINS.items()}
    assert f'required_version = "= {versions["packer"]}"' in TEXT


def test_images_are_the_accounts_alone_and_encrypted() -> None:
    assert not re.search(r"\b(ami_groups|ami_users|ami_org_arns|ami_ou_arns|snapshot_groups|snapshot_users)\b", TEXT)
    assert re.search(r"encrypted += true", TEXT)
    assert re.search(r"encryption_at_host += true", TEXT)
    assert re.search(r'http_tokens += "required"', TEXT)


@pytest.fixture(name="packer")
def _packer(tmp_path: Path) -> Packer:
    tools.ensure(["packer", *PLUGINS.values()], log_dir=tmp_path, progress=print)
    return find_packer({}, log_dir=tmp_path)


def run(packer: Packer, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(packer.binary), *words],
        cwd=folder,
        env=packer.environment(os.environ, folder=folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


@pytest.mark.drill
def test_packer_has_nothing_to_format(packer: Packer, tmp_path: Path) -> None:
    done = run(packer, tmp_path, "fmt", "-check", "-diff", str(TEMPLATES))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture(name="hybrid")
def _hybrid(checkout: Checkout, packer: Packer) -> Checkout:
    """The lab's environment, with the real Packer."""
    checkout.gains_hosts()
    checkout.environ |= {"LONGHAUL_CACHE": str(cache_root()), "AWS_EC2_METADATA_DISABLED": "true"}
    return checkout


@pytest.mark.drill
@pytest.mark.parametrize("site", SUBNETS)
@pytest.mark.parametrize("inside", [False, True])
def test_packer_and_its_plugins_take_what_the_command_gives_them(hybrid: Checkout, site: str, inside: bool) -> None:
    words = ["--subnet", SUBNETS[site]] if inside else []
    done = hybrid.run("image", "build", "--env", "dev", "--site", site, "--validate", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The configuration is valid." in done.stdout


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A copy of the templates that may be changed, with valid variables."""

    packer: Packer
    folder: Path
    variables: dict[str, Any]

    def change(self, old: str, new: str) -> None:
        (path,) = (path for path in self.folder.glob("*.pkr.hcl") if old in path.read_text())
        path.write_text(path.read_text().replace(old, new))

    def words(self, verb: str, build: str) -> list[str]:
        path = self.folder / "variables.json"
        path.write_text(json.dumps(self.variables))
        return [verb, f"-only=longhaul.{build}", f"-var-file={path}", str(self.folder)]


@pytest.fixture(name="copy")
def _copy(packer: Packer, tmp_path: Path) -> Copy:
    folder = tmp_path / "templates"
    shutil.copytree(TEMPLATES, folder)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    gallery = {"subscription": "1", "resource_group": "g", "gallery": "g", "definition": "node"}
    variables = {
        "tags": {"longhaul-environment": "any", "longhaul-site": "any"},
        **dict.fromkeys(("commit", "sources_digest"), "any"),
        "region": "us-east-1",
        "kind": "node",
        "image_version": "1.4.0",
        "machine_type": "any",
        "ssh_sources": ["198.51.100.2/32"],
        "ssh_private_key_file": str(key),
        "ssh_public_key": "ssh-ed25519 AAAA",
        "playbook_command": "/bin/true",
        "result": str(tmp_path / "result.json"),
        "azure_subscription": "1",
        "azure_tenant": "1",
        "azure_gallery": gallery,
    }
    return Copy(packer=packer, folder=folder, variables=variables)


@pytest.mark.drill
@pytest.mark.parametrize(
    ("build", "old", "new", "says"),
    [
        ("amazon-ebs.node", "encrypted             = true", "encryptid = true", '"encryptid"'),
        ("amazon-ebs.node", '["099720109477"]', "[]", "must declare an owner"),
        (
            "amazon-ebs.node",
            'http_tokens                 = "required"',
            'http_tokens = "wanted"',
            "http_tokens requires",
        ),
        ("azure-arm.node", 'image_offer     = "ubuntu-24_04-lts"', "", "An image_offer must be specified"),
        ("azure-arm.node", "encryption_at_host     = true", "encryption_at_hosts = true", '"encryption_at_hosts"'),
        ("amazon-ebs.node", '"= 1.2.1"', '"= 1.2.2"', "1.2.2"),
    ],
)
def test_a_mistake_in_a_template_is_found(copy: Copy, build: str, old: str, new: str, says: str) -> None:
    copy.change(old, new)
    done = run(copy.packer, copy.folder, *copy.words("validate", build))
    assert done.returncode != 0
    assert says in done.stdout + done.stderr


@pytest.mark.drill
@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("ssh_sources", ["0.0.0.0/0"], "not everybody may"),
        ("ssh_sources", [], "Somebody has to reach"),
        ("image_version", "1.4", "three numbers"),
        ("image_version", "1.04.0", "three numbers"),
        ("kind", "gateway", "node or gpu"),
    ],
)
def test_a_value_that_may_not_be_is_refused(copy: Copy, name: str, value: object, says: str) -> None:
    copy.variables[name] = value
    done = run(copy.packer, copy.folder, *copy.words("validate", "amazon-ebs.node"))
    assert done.returncode != 0
    assert says in done.stdout + done.stderr


@pytest.fixture(name="here")
def _here(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> Copy:
    """The build with Packer's null builder, which makes no machine, and without the steps inside a machine."""
    copy.change('"source.azure-arm.node",', '"source.azure-arm.node",\n    "source.null.here",')
    path = copy.folder / "node.pkr.hcl"
    path.write_text(re.sub(r'\n  provisioner "shell" \{.*?\n  \}\n', "\n", path.read_text(), flags=re.DOTALL))
    (copy.folder / "here.pkr.hcl").write_text('source "null" "here" {\n  communicator = "none"\n}\n')
    monkeypatch.setattr(packers, "TEMPLATES", copy.folder)
    return copy


def program(copy: Copy, text: str) -> None:
    path = copy.folder.parent / "playbook"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    copy.variables["playbook_command"] = str(path)


def build(copy: Copy, shown: io.BytesIO) -> EngineResult:
    return packers.run_packer(
        [str(copy.packer.binary), *copy.words("build", "null.here")],
        environ=copy.packer.environment(os.environ, folder=copy.folder),
        log=copy.folder.parent / "log",
        shown=shown,
    )


@pytest.mark.drill
def test_a_build_runs_the_playbooks_program_and_notes_what_it_made(here: Copy) -> None:
    program(here, 'echo "given $# words"; echo trouble >&2')
    shown = io.BytesIO()
    result = build(here, shown)
    assert (result.code, result.interrupted) == (0, False), shown.getvalue()
    assert b"given 3 words" in shown.getvalue()
    assert (here.folder.parent / "log").read_bytes() == shown.getvalue()
    (made,) = json.loads(Path(here.variables["result"]).read_text())["builds"]
    assert made["builder_type"] == "null"


@pytest.mark.drill
def test_a_playbook_that_fails_fails_the_build_and_nothing_is_noted(here: Copy) -> None:
    program(here, "echo 'TASK [packages : Install packages] no room'; exit 2")
    shown = io.BytesIO()
    assert build(here, shown).code == 1
    assert b"no room" in shown.getvalue()
    assert not Path(here.variables["result"]).exists()


BUILD = """
import io, json, sys
from pathlib import Path
from longhaul.image import packer as packers
packers.TEMPLATES = Path(sys.argv[1])
environ = json.loads(sys.argv[2])
shown = open(sys.argv[3], "wb")
print(packers.run_packer(sys.argv[4:], environ=environ, log=Path(sys.argv[3] + ".log"), shown=shown))
"""


def awaited(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + LIMIT_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.drill
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_ends_its_playbook_and_whatever_that_started(here: Copy, number: signal.Signals) -> None:
    """The signal goes to our process alone, as from a service manager: Packer's first process would ignore SIGINT."""
    began = here.folder.parent / "began"
    program(here, f"sleep 1000 & echo $! $$ >{began}.new; mv {began}.new {began}; wait")
    environ = here.packer.environment(os.environ, folder=here.folder)
    argv = [str(here.packer.binary), *here.words("build", "null.here")]
    said = here.folder.parent / "said"
    command = [sys.executable, "-c", BUILD, str(here.folder), json.dumps(environ), str(said), *argv]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        assert awaited(began.exists), said.read_text()
        process.send_signal(number)
        out, _ = process.communicate(timeout=LIMIT_S)
    assert "Result(code=1, interrupted=True)" in out
    assert "Cancelling build after receiving terminated" in said.read_text()
    for pid in began.read_text().split():
        assert awaited(lambda pid=pid: not Path(f"/proc/{pid}").exists())  # type: ignore[misc]
    assert not Path(here.variables["result"]).exists()


@pytest.mark.drill
def test_a_packer_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"LONGHAUL_PACKER is .*/none, which cannot be run"):
        find_packer({packers.OVERRIDE: str(tmp_path / "none")}, log_dir=tmp_path)
