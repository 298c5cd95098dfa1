"""Outside ``clouds`` and each cloud's own folders, no code asks which cloud a site is in; it asks the cloud instead.

Held on the syntax: no ``isinstance`` and no ``case`` of a cloud's site, no import of one cloud, and no text that is a
cloud's kind or begins as its types do. :data:`KNOWN` lists the files that still name a cloud, with what for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PACKAGES = ("components", "contract", "images", "lab", "longhaul", "playbooks", "services", "stacks")

KINDS = ("azure", "aws", "onprem")
TOKEN = re.compile(r"(azure|aws|onprem)$|(azure-native|aws):")
"""A text that is a cloud's kind, or begins as tokens of its types do."""
OF_ONE = re.compile(r"(clouds|components|lab\.cloud)\.(azure|aws|onprem)\b")
"""A module of one cloud."""

OF_A_CLOUD = (
    *(f"components/{kind}/" for kind in KINDS),
    "lab/cloud/",
    "lab/providers/",
)
"""Folders that may know one cloud: its components, and the lab's stand-ins for clouds."""

KNOWN = {
    "components/model/network/allowed_traffic.py": "flows to a cloud's own interfaces, which Azure and AWS each need",
    "components/environment/lean_sdk.py": "versions in tokens of one SDK",
    "contract/documents/node_controller.py": "fields of each cloud's sites, which machines read without the clouds",
    "images/rootfs/": "machines' programs, which have neither the model nor packages",
    "lab/drill/certificate_aging.py": "the control plane's vault, which is Azure's",
    "lab/project.py": "regions that the lab's AWS has",
    "longhaul/cli/__init__.py": "the name of a library's logger",
    "longhaul/destroy/command.py": "what a killed destruction leaves",
    "longhaul/init/": "questions about each cloud",
}
"""Files and folders that still name a cloud, with the reason."""


def faults(source: str) -> Iterator[str]:
    """Each place in ``source`` that asks which cloud a site is in, as ``line: what``."""
    for node in ast.walk(ast.parse(source)):
        for found in _faults(node):
            yield f"{getattr(node, 'lineno', 0)}: {found}"


def _faults(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name("isinstance"), args=[_, types]) if _sites(types):
            yield "isinstance of a site"
        case ast.MatchClass(cls=cls) if _sites(cls):
            yield "case of a site"
        case ast.Constant(value=str(text)) if TOKEN.match(text):
            yield f"names {text}"
        case ast.ImportFrom(module=str(module)) if OF_ONE.match(module):
            yield f"import from {module}"
        case ast.ImportFrom(module="clouds" | "components", names=names):
            yield from (f"import of {name.name}" for name in names if name.name in KINDS)
        case ast.Import(names=names):
            yield from (f"import of {name.name}" for name in names if OF_ONE.match(name.name))


def _sites(types: ast.AST) -> bool:
    """Return whether ``types`` contains a cloud's site type."""
    names = {node.id for node in ast.walk(types) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(types) if isinstance(node, ast.Attribute)}
    return bool(names & {f"{kind.capitalize()}Site" for kind in KINDS})


@cache
def offenders() -> dict[str, list[str]]:
    """Faults by file, outside the clouds' own folders."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(OF_A_CLOUD) and (said := list(faults(path.read_text(encoding="utf-8")))):
                found[name] = said
    return found


def test_nobody_asks_which_cloud_a_site_is_in() -> None:
    assert {name: said for name, said in offenders().items() if not name.startswith(tuple(KNOWN))} == {}


def test_what_is_known_is_still_there() -> None:
    assert [place for place in KNOWN if not any(name.startswith(place) for name in offenders())] == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("isinstance(site, AzureSite)", 1),
        ("isinstance(site, AzureSite | AwsSite)", 1),
        ("isinstance(site, (AwsSite, OnpremSite))", 1),
        ("isinstance(site, SiteBase)", 0),
        ("match site:\n    case AwsSite() as it:\n        pass", 1),
        ("match kinds:\n    case 'aws', 'onprem':\n        pass", 2),
        ("site.kind == 'azure'", 1),
        ("site.kind != 'onprem'", 1),
        ("kind in ('azure', 'aws')", 2),
        ("site.get('kind') == 'onprem'", 1),
        ("'aws' in used", 1),
        ("Flow(cloud='azure')", 1),
        ("{'aws': look}", 1),
        ("clouds()['azure']", 1),
        ("isinstance(site, azure.AzureSite)", 1),
        ("type_ == 'aws:ec2/vpc:Vpc'", 1),
        ("type_.startswith('azure-native:')", 1),
        ("said = 'aws has none'", 0),
        ("bake.kind == 'gpu'", 0),
        ("from clouds.azure import names", 1),
        ("from clouds.azure.site import AzureSite", 1),
        ("from clouds import aws", 1),
        ("import clouds.onprem.site", 1),
        ("from components.azure.account import azure_site", 1),
        ("from lab.cloud.aws import world", 1),
        ("from clouds.registry import cloud_of", 0),
        ("from clouds.base.site import SiteBase", 0),
    ],
)
def test_the_rule_itself(line: str, count: int) -> None:
    assert len(list(faults(line))) == count
