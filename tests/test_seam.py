"""Outside ``clouds`` and each cloud's own folders nobody asks which cloud a site is in: clouds are asked instead.

Held on the syntax: no ``isinstance`` and no ``case`` of a cloud's site, no comparison of a ``kind`` with a cloud's, and
no import of one cloud.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PACKAGES = ("components", "images", "lab", "longhaul", "playbooks", "stacks")

KINDS = ("azure", "aws", "onprem")

OF_A_CLOUD = (
    *(f"components/{kind}/" for kind in KINDS),
    "components/control_plane/",
    "lab/cloud/",
    "lab/providers/",
)
"""Folders of a cloud, which know it: where it is made, the control plane, which is in Azure, and in the lab what stands
for them."""


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
        case ast.MatchValue(value=ast.Constant(value=str(word))) if word in KINDS:
            yield f"case of {word}"
        case ast.Compare() if _kind_among(node) and _words_among(node):
            yield "a kind compared"
        case ast.ImportFrom(module=str(module)) if _of_one_cloud(f"{module}."):
            yield f"import from {module}"
        case ast.ImportFrom(module="clouds", names=names):
            yield from (f"import of {name.name}" for name in names if name.name in KINDS)
        case ast.Import(names=names):
            yield from (f"import of {name.name}" for name in names if _of_one_cloud(f"{name.name}."))


def _of_one_cloud(module: str) -> bool:
    return module.startswith(tuple(f"clouds.{kind}." for kind in KINDS))


def _sites(types: ast.AST) -> bool:
    """Whether a type of ``types`` is a cloud's site."""
    names = {node.id for node in ast.walk(types) if isinstance(node, ast.Name)}
    return bool(names & {f"{kind.capitalize()}Site" for kind in KINDS})


def _kind_among(node: ast.Compare) -> bool:
    sides = (node.left, *node.comparators)
    return any(
        (isinstance(side, ast.Attribute) and side.attr in ("kind", "cloud"))
        or (isinstance(side, ast.Name) and side.id in ("kind", "cloud"))
        for side in sides
    )


def _words_among(node: ast.Compare) -> bool:
    inner = (part for side in (node.left, *node.comparators) for part in ast.walk(side))
    return any(isinstance(part, ast.Constant) and part.value in KINDS for part in inner)


def offenders() -> dict[str, list[str]]:
    """Faults by file."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(OF_A_CLOUD) and (said := list(faults(path.read_text(encoding="utf-8")))):
                found[name] = said
    return found


def test_nobody_asks_which_cloud_a_site_is_in() -> None:
    assert offenders() == {}


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
        ("kind in ('azure', 'aws')", 1),
        ("bake.kind == 'gpu'", 0),
        ("from clouds.azure import names", 1),
        ("from clouds.azure.site import AzureSite", 1),
        ("from clouds import aws", 1),
        ("import clouds.onprem.site", 1),
        ("from clouds.registry import cloud_of", 0),
        ("from clouds.base.site import SiteBase", 0),
    ],
)
def test_the_rule_itself(line: str, count: int) -> None:
    assert len(list(faults(line))) == count
