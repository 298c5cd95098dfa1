"""Previews of a release's states with today's program: nothing is replaced, nothing is deleted, the rest is
reviewed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.engine.throwaway import STATE_VERSION, copy_stack_file, throwaway_backend
from longhaul.judgement.changes import Changes, ResourceAction, read_changes
from longhaul.judgement.preview_document import read_document
from tests.support.engine import QUICK_PIP, engine_home
from tests.support.project import LIMIT_S, REPOSITORY
from tests.upgrade.names import name_of
from tests.upgrade.releases import ACCEPTED, LAB, Release
from tests.upgrade.verdict import judge

pytestmark = pytest.mark.engine

NOWHERE = "/nowhere"
"""Kubeconfig of the cluster. No cluster is needed: the comparison is with the state."""
DROPPED = ("PULUMI_", "AZURE_", "ARM_", "AWS_", "KUBE", "LONGHAUL_")

OLD, NEW = "lab-control-plane-vault", "lab-control-plane-safe"
RENAMED = f"""\
from pulumi import Alias, ResourceOptions
from components.azure import vault
ALIASES = []
construct = vault.EnvironmentVault.__init__
def renamed(self, name, args, opts=None):
    opts = ResourceOptions.merge(opts, ResourceOptions(aliases=ALIASES))
    construct(self, name.replace("{OLD}", "{NEW}"), args, opts)
vault.EnvironmentVault.__init__ = renamed
"""
"""Code before the previewed program, which renames the vault's component."""
ALIASED = f'ALIASES.append(Alias(name="{OLD}"))\n'
UNCOUNTED = ("pulumi:providers:", "pulumi:pulumi:StackReference")
"""Resources that the engine makes for itself or only reads: it does not count them."""
OTHER_FILE = """\
from components.render import File, secrets
document = secrets.document
secrets.document = lambda *args: document(*args) | {"/etc/other": File(content="")}
"""
"""Code that adds one file to every control-plane machine's user-data."""


class Upgrade:
    """A project with a release's environment, and a backend with its states."""

    def __init__(self, folder: Path, release: Release, *, pulumi: Path) -> None:
        self._folder, self._pulumi = folder, pulumi
        self.project = folder / "project"
        stacks = self.project / "stacks"
        shutil.copytree(release.stacks, stacks)
        for name in ("Pulumi.prod.yaml", "Pulumi.prod-objects.yaml"):
            (stacks / name).unlink()
        shutil.copy(REPOSITORY / "Pulumi.yaml", self.project)
        self.change("")
        plugins = REPOSITORY / "lab" / "providers" / "bin"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(DROPPED)}
        self._environ = {
            **kept,
            "PATH": f"{Path(sys.executable).parent}:{plugins}:{pulumi.parent}:{os.environ['PATH']}",
            # The program of this checkout, wherever the environment's packages point.
            "PYTHONPATH": f"{QUICK_PIP}{os.pathsep}{REPOSITORY}",
            **engine_home(folder),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "KUBECONFIG": NOWHERE,
        }
        backend = folder / "backend"
        self._environ |= throwaway_backend(backend, project="longhaul", stack=LAB[0])
        for stack in LAB:
            # The release's own salt is not needed: its states contain no ciphertext.
            copy_stack_file(stacks / f"Pulumi.{stack}.yaml", self._config(stack), decrypts=False)
            checkpoint = {"stack": f"organization/longhaul/{stack}", "latest": release.state(stack)["deployment"]}
            path = backend / ".pulumi" / "stacks" / "longhaul" / f"{stack}.json"
            path.write_text(json.dumps({"version": STATE_VERSION, "checkpoint": checkpoint}), encoding="utf-8")

    def change(self, lines: str) -> None:
        """Put ``lines`` before the program, such as the change of a constant."""
        source = (REPOSITORY / "stacks" / "__main__.py").read_text(encoding="utf-8")
        (self.project / "stacks" / "__main__.py").write_text(lines + source, encoding="utf-8")

    def preview(self, stack: str) -> Changes:
        """Return the changes that an ``up`` would make to a stack."""
        written = self._run("preview", "--json", "--config-file", str(self._config(stack)), stack=stack)
        return read_changes([read_document(written, source=f"the preview of {stack}")])

    def _config(self, stack: str) -> Path:
        return self._folder / f"Pulumi.{stack}.yaml"

    def _run(self, *words: str, stack: str) -> str:
        done = subprocess.run(
            [str(self._pulumi), *words, "--stack", stack, "--non-interactive"],
            cwd=self.project,
            env=self._environ,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0 or done.stdout.startswith("{"), done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module", name="upgrade")
def _upgrade(tmp_path_factory: pytest.TempPathFactory, release: Release, pulumi: Path) -> Upgrade:
    return Upgrade(tmp_path_factory.mktemp("upgrade"), release, pulumi=pulumi)


@pytest.fixture(scope="module", name="found")
def _found(upgrade: Upgrade) -> dict[str, Changes]:
    upgrade.change("")
    return {stack: upgrade.preview(stack) for stack in LAB}


def test_an_upgrade_does_what_was_reviewed_and_nothing_else(release: Release, found: dict[str, Changes]) -> None:
    refused = [line for changes in found.values() for line in judge(changes.changes, release.accepted()).refused]
    assert not refused, f"an upgrade from {release.version} would\n  " + "\n  ".join(refused)


def test_what_was_reviewed_still_happens(release: Release, found: dict[str, Changes]) -> None:
    used = {entry for changes in found.values() for entry in judge(changes.changes, release.accepted()).used}
    there = [(one["type"], one["urn"].rpartition("::")[2]) for stack in LAB for one in release.resources(stack)]
    # What only production has goes by name (test_names.py).
    possible = [
        one for one in release.accepted() if one.action != "destroy" or any(one.covers(*known) for known in there)
    ]
    unused = [entry for entry in possible if entry not in used]
    assert not unused, f"an upgrade from {release.version} does none of this any more: take it out of {ACCEPTED}"


def test_the_states_are_compared_and_not_made_anew(release: Release, found: dict[str, Changes]) -> None:
    for stack, changes in found.items():
        urns = {one["urn"] for one in release.resources(stack)}
        known = {urn for urn in urns if not name_of(urn).startswith(UNCOUNTED)}
        assert changes.same + sum(change.urn in known for change in changes.changes) == len(known), stack


def test_a_lost_name_and_another_user_data_are_seen(release: Release, upgrade: Upgrade) -> None:
    upgrade.change(RENAMED + OTHER_FILE)
    # As if the release replaced no machine.
    accepted = [entry for entry in release.accepted() if entry.action != "replace"]
    refused = judge(upgrade.preview("lab").changes, accepted).refused
    vaults = [line for line in refused if "azure-native:keyvault:Vault::" in line]
    assert any(line.startswith(("destroy", "replace")) and f"::{OLD}" in line for line in vaults), vaults
    assert any(line.startswith("make") and f"::{NEW}" in line for line in vaults), vaults
    machines = [line for line in refused if line.startswith("replace") and ":VirtualMachine::" in line]
    assert all(re.search(r"osProfile.customData \(.*/etc/other\b", line) for line in machines), machines
    kind = "azure-native:compute:VirtualMachine"
    assert len(machines) == sum(one["type"] == kind for one in release.resources("lab")) > 0


def test_an_alias_takes_over_what_had_another_name(
    release: Release, upgrade: Upgrade, found: dict[str, Changes]
) -> None:
    upgrade.change(RENAMED + ALIASED)
    changes = upgrade.preview("lab").changes
    assert judge(changes, release.accepted()).refused == ()
    gone = (ResourceAction.REPLACE, ResourceAction.DESTROY)
    without = {change.urn for change in found["lab"].changes if change.action in gone}
    assert {change.urn for change in changes if change.action in gone} == without
