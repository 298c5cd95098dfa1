"""The states of a release, previewed with today's program: nothing is made anew, nothing goes, the rest is reviewed."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.plan.changes import Action, Changes
from tests.upgrade.names import name_of
from tests.upgrade.preview import Upgrade
from tests.upgrade.releases import ACCEPTED, LAB, Release
from tests.upgrade.verdict import judge

pytestmark = pytest.mark.engine

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
"""What gives the vault's component another name, in the program that is previewed."""
ALIASED = f'ALIASES.append(Alias(name="{OLD}"))\n'
UNCOUNTED = ("pulumi:providers:", "pulumi:pulumi:StackReference")
"""What the engine makes for itself, and what it only reads: it counts neither."""
OTHER_FILE = "from components.render import secrets\nsecrets.METADATA = 'http://169.254.169.254/other'\n"
"""What changes one file of every control-plane machine's user-data."""


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
    unused = [entry for entry in release.accepted() if entry not in used]
    assert not unused, f"an upgrade from {release.version} does none of this any more: take it out of {ACCEPTED}"


def test_the_states_are_compared_and_not_made_anew(release: Release, found: dict[str, Changes]) -> None:
    for stack, changes in found.items():
        urns = {one["urn"] for one in release.resources(stack)}
        known = {urn for urn in urns if not name_of(urn).startswith(UNCOUNTED)}
        assert changes.same + sum(change.urn in known for change in changes.changes) == len(known), stack


def test_a_lost_name_and_another_user_data_are_seen(release: Release, upgrade: Upgrade) -> None:
    upgrade.change(RENAMED + OTHER_FILE)
    refused = judge(upgrade.preview("lab").changes, release.accepted()).refused
    vaults = [line for line in refused if "azure-native:keyvault:Vault::" in line]
    assert any(line.startswith(("destroy", "replace")) and f"::{OLD}" in line for line in vaults), vaults
    assert any(line.startswith("make") and f"::{NEW}" in line for line in vaults), vaults
    machines = [line for line in refused if line.startswith("replace") and ":VirtualMachine::" in line]
    assert {line.split("\n")[0].rpartition(": ")[2] for line in machines} == {
        "osProfile.customData (/etc/longhaul/secrets.json)"
    }
    assert len(machines) == sum(
        one["type"] == "azure-native:compute:VirtualMachine" for one in release.resources("lab")
    )


def test_an_alias_takes_over_what_had_another_name(release: Release, upgrade: Upgrade) -> None:
    upgrade.change(RENAMED + ALIASED)
    changes = upgrade.preview("lab").changes
    assert judge(changes, release.accepted()).refused == ()
    assert not [change for change in changes if change.action in (Action.REPLACE, Action.DESTROY)]
