"""The roles read the repository's pins in the same way as the lab's tools."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from components.model.versions.section import offered_versions
from longhaul.toolchain.spec import load, repository
from tests.support.modules import module_at

PLUGIN = module_at(repository() / "playbooks" / "filter_plugins" / "pins.py")
PINS = PLUGIN.from_toml((repository() / "tools.toml").read_text(encoding="utf-8"))
CHOICES: list[dict[str, str]] = [
    {},
    *({release: version} for release in ("etcd", "kubernetes") for version in offered_versions(release)),
]


@pytest.mark.parametrize("versions", CHOICES, ids=str)
@pytest.mark.parametrize("arch", ["amd64", "arm64"])
def test_every_binary_is_what_the_lab_takes_it_for(arch: str, versions: dict[str, str]) -> None:
    spec = load(versions=versions)
    found = PLUGIN.pinned_binaries(PINS, [tool.name for tool in spec.tools], arch, versions)
    expected = []
    for tool in spec.tools:
        download = tool.downloads.get(arch)
        more = {"url": download.url, "sha256": download.sha256} if download else {}
        more |= {"folder": download.folder} if download and download.folder else {}
        expected += [
            {"name": binary.name, "tool": tool.name, "version": tool.version, **more} for binary in tool.binaries
        ]
    assert found == expected


def test_an_unknown_tool_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match=r"has no etcdd; it has pulumi, etcd"):
        PLUGIN.pinned_binaries(PINS, ["etcd", "etcdd"], "amd64")


def test_a_version_that_is_not_pinned_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match=r"has no etcd 3\.5\.1; it has "):
        PLUGIN.pinned_binaries(PINS, ["etcd"], "amd64", {"etcd": "3.5.1"})


def test_sums_are_read_by_path() -> None:
    assert PLUGIN.sums_of("aa  etcd/3.6.8/etcd\nbb  ctr/2.2.1/ctr\n") == {
        "etcd/3.6.8/etcd": "aa",
        "ctr/2.2.1/ctr": "bb",
    }


def test_what_is_not_toml_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="this is not TOML"):
        PLUGIN.from_toml("version 1")
