"""Names of a release's resources stay, or an alias leads from the old name to the new one; tested without an engine."""

from __future__ import annotations

import base64
import pickle
from functools import cache
from typing import Any

import pytest
from pulumi import Alias, ComponentResource, CustomResource, ResourceOptions

from components.model import load
from components.model.loading.load import load_directory
from tests.support.declared import declare
from tests.upgrade.names import Program, declared, lost, names
from tests.upgrade.releases import ACCEPTED, ENVIRONMENTS, LAB, Entry, Release, releases


def known(release: Release, env: str) -> set[str]:
    """Return the names that the release declared for an environment, without those that may go."""
    lines = (release.folder / f"names.{env}.txt").read_text(encoding="utf-8").splitlines()
    going = _going(release)
    return {name for name in lines if not any(_is_of(entry, name) for entry in going)}


def _going(release: Release) -> list[Entry]:
    return [one for one in release.accepted() if one.action == "destroy"]


def _is_of(entry: Entry, name: str) -> bool:
    kinship, _, own = name.partition("::")
    return entry.covers(kinship.split("$")[-1], own)


@cache
def today(release: Release, env: str) -> Program:
    """Declare the release's environment file with today's program; once for all tests, since it takes seconds."""
    return declared(load(release.stacks / f"Pulumi.{env}.yaml"))


def test_a_release_is_remembered() -> None:
    assert releases()


def test_environment_files_of_a_release_are_read(release: Release) -> None:
    assert set(load_directory(release.stacks)) == set(ENVIRONMENTS)


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_every_name_is_still_there(release: Release, env: str) -> None:
    before = known(release, env)
    assert len(before) > 100
    gone = lost(before, today(release, env))
    assert not gone, (
        f"release {release.version} made these of {env}, and an upgrade would delete them and make others: "
        "keep type, name and parent, or give the new one `aliases` in its ResourceOptions (docs/releasing.md, Renaming "
        "a resource):\n  " + "\n  ".join(gone)
    )


def test_what_may_go_goes(release: Release) -> None:
    gone: set[str] = set()
    for env in ENVIRONMENTS:
        lines = (release.folder / f"names.{env}.txt").read_text(encoding="utf-8").splitlines()
        gone |= set(lost(lines, today(release, env)))
    unused = [entry for entry in _going(release) if not any(_is_of(entry, name) for name in gone)]
    assert not unused, f"nothing of this goes any more: take it out of {release.folder / ACCEPTED}"


class Group(ComponentResource):
    """Two resources in a cloud, one of them in a group of its own."""

    def __init__(self, name: str, opts: ResourceOptions | None = None, *, inner: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:test:Group", name, None, opts)
        CustomResource("test:index:Thing", f"{name}-thing", {}, ResourceOptions(parent=self))
        if inner is not None:
            Group(f"{name}-inner", ResourceOptions.merge(inner, ResourceOptions(parent=self)))


def group(name: str, *, own: list[Alias], inner: list[Alias] | None = None) -> Program:
    """Declare a group with that name and these aliases."""

    def build() -> dict[str, Any]:
        Group(name, ResourceOptions(aliases=own), inner=ResourceOptions(aliases=inner or []))
        return {}

    return declare(build).resources


def test_a_renamed_component_keeps_its_children_by_an_alias_alone() -> None:
    before = names(group("old", own=[]))
    assert before == [
        "longhaul:test:Group$longhaul:test:Group$test:index:Thing::old-inner-thing",
        "longhaul:test:Group$test:index:Thing::old-thing",
    ]
    assert lost(before, group("old", own=[])) == []
    assert lost(before, group("new", own=[])) == before
    assert lost(before, group("new", own=[Alias(name="old")])) == []
    assert lost(before, group("new", own=[Alias(name="older")])) == before
    assert lost(before, group("new", own=[], inner=[Alias(name="old-inner")])) == before[1:]


def test_a_component_that_moved_keeps_its_children_by_an_alias_alone() -> None:
    before = ["longhaul:test:Group$test:index:Thing::old-inner-thing"]
    parent = "urn:pulumi:test::longhaul::pulumi:pulumi:Stack::longhaul-test"
    assert lost(before, group("old", own=[])) == before
    assert lost(before, group("old", own=[], inner=[Alias(parent=None)])) == []
    assert lost(before, group("old", own=[], inner=[Alias(parent=parent)])) == []


def test_what_a_state_calls_is_still_there(release: Release) -> None:
    """A state names the class of each of our dynamic resources by its module. To delete a resource, the engine loads
    that class."""
    resources = (one for stack in LAB for one in release.resources(stack))
    written = {one["inputs"]["__provider"] for one in resources if "__provider" in one.get("inputs", {})}
    assert written
    for provider in written:
        found = pickle.loads(base64.b64decode(provider))
        assert hasattr(found, "delete"), f"{found} must stay where it is: a state of {release.version} names it"
