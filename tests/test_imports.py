"""Imports go one way: stacks -> components -> components.render -> components.model -> clouds -> contract."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PACKAGES = ("clouds", "components", "contract", "images", "lab", "longhaul", "playbooks", "services", "stacks")
"""Folders with code of the project, tests left out."""

PLUGINS = ("playbooks.inventory", "playbooks.lookup_plugins", "playbooks.filter_plugins")
"""Plugins of the project that Ansible loads: the command knows their messages."""

SUPPLY = ("longhaul.artifacts", "longhaul.toolchain")
"""Modules of the command that the lab uses as well: they fetch pinned things and keep them in a folder. The lab's depot
is such a folder. These modules know nothing of the rest of the command, nor of the lab."""

CLIENT = "longhaul.client"
"""The part of the command that people install who run nothing: it knows nothing of the rest but how it speaks."""
TERMINAL = "longhaul.terminal"
"""Speech of every command: the standard library alone, so the client has it too."""
CONTRACT = "contract"
"""The package that every side has: it needs the standard library alone."""
CERTIFICATE_READER = "contract.certificate_requests"
"""The one module of the contract that needs a library, which the machines that load it have."""

LAB_SEAM = "longhaul.project.lab_seam"
"""The one module of the command that knows the lab."""


@dataclass(frozen=True)
class Import:
    """One import in one module."""

    module: str
    line: int
    target: str
    """Name that is imported, including the name after ``import``."""
    at_run_time: bool
    """False below ``if TYPE_CHECKING``."""

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def modules() -> dict[str, Path]:
    """Return every module of the project by its name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def imports(source: str, module: str, *, package: bool = False) -> Iterator[Import]:
    """Yield every import in ``source``, including those inside functions; relative ones are resolved."""
    tree = ast.parse(source)
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: len(module.split(".")) - node.level + (1 if package else 0)]
            base = ".".join([*(above if node.level else []), *([node.module] if node.module else [])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (Import(module, node.lineno, target, node not in typing_only) for target in targets)


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    path = MODULES[module]
    return tuple(imports(path.read_text(encoding="utf-8"), module, package=path.name == "__init__.py"))


def all_imports() -> list[Import]:
    return [found for module in MODULES for found in imports_of(module)]


def within(name: str, *packages: str) -> bool:
    """Return whether ``name`` is one of ``packages`` or inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def own(name: str) -> str | None:
    """Return the project's module that an import of ``name`` loads, or None."""
    return name if name in MODULES else name.rpartition(".")[0] if name.rpartition(".")[0] in MODULES else None


def is_pulumi(name: str) -> bool:
    return name.startswith("pulumi")


PULUMI_KNOWN = ("components", "lab", "longhaul", "stacks")
"""Packages that may import Pulumi, except for :data:`PULUMI_FREE`."""
PULUMI_FREE = ("components.model", "components.reference", "components.render")

MAY_IMPORT = {
    "clouds.base": ("clouds.base",),
    "clouds.registry": ("clouds",),
    "components.model": ("components.model", "clouds"),
    "components.reference": ("components.reference", "components.model", "clouds"),
    "components.render": ("components.render", "components.model", "clouds"),
    "components": ("components", "clouds"),
    "stacks": ("components",),
    "services": ("services", "components.model", "clouds"),
    CLIENT: (CLIENT, TERMINAL),
    TERMINAL: (TERMINAL,),
    LAB_SEAM: ("longhaul", "clouds", "components.model", "components.render", "lab"),
    **dict.fromkeys(SUPPLY, (*SUPPLY, "clouds", "components.model", "components.render")),
    # Certificates on demand, and keys that are rotated, are made as `up` makes them, without Pulumi.
    "longhaul": (
        *("longhaul", "services", "clouds", "components.model", "components.render"),
        *("components.control_plane.issuing", "components.control_plane.signing_keys"),
    ),
    "lab": ("lab", *SUPPLY, "clouds", "components.model", "components.render"),
    **dict.fromkeys(
        PLUGINS,
        (
            "playbooks",
            "longhaul.artifacts",
            "longhaul.racks",
            "longhaul.terminal",
            "longhaul.toolchain",
            "components.model",
            "components.render",
        ),
    ),
    "playbooks": ("playbooks", "components.model", "components.render"),
    "images": ("images", "components.model", "components.render"),
}
"""Packages of the project that each importer may import besides the contract; the first that matches counts. A cloud
may import itself and ``clouds.base``."""


def forbidden(found: Import) -> bool:
    """Return whether an import breaks the one-way order of the packages."""
    module, target = found.module, found.target
    if within(module, CERTIFICATE_READER) and within(target, "cryptography"):
        return False
    if within(module, CONTRACT):
        return not within(target, CONTRACT, *sys.stdlib_module_names)
    if within(target, CONTRACT):
        return False
    if not within(target, *PACKAGES):
        free = within(module, *PULUMI_FREE) or not within(module, *PULUMI_KNOWN)
        return is_pulumi(target) and free
    for package, allowed in MAY_IMPORT.items():
        if within(module, package):
            return not within(target, *allowed)
    return not within(target, "clouds.base", ".".join(module.split(".")[:2]))


def test_imports_go_one_way() -> None:
    assert [str(found) for found in all_imports() if forbidden(found)] == []


@pytest.mark.parametrize(
    ("module", "line", "refused"),
    [
        ("components.model.loading.load", "import pulumi", True),
        ("components.model.loading.load", "from pulumi.dynamic import Resource", True),
        ("components.model.loading.load", "import pulumi_aws", True),
        ("components.model.loading.load", "from components import render", True),
        ("components.model.loading.load", "from components.model import checks", False),
        ("components.model.loading.load", "from . import checks", False),
        ("components.model.environment", "from ..render import etcd", True),
        ("components.model.loading.load", "from clouds.base import site", False),
        ("clouds.azure.site", "from clouds.base import site", False),
        ("clouds.azure.site", "from contract import labels", False),
        ("contract.labels", "from clouds.base import site", True),
        ("contract.labels", "import yaml", True),
        ("contract.labels", "from cryptography import x509", True),
        ("contract.certificate_requests", "from cryptography import x509", False),
        ("contract.labels", "import json", False),
        ("clouds.azure.site", "from clouds.aws import site", True),
        ("clouds.base.site", "from clouds.azure import site", True),
        ("clouds.azure.site", "from components.model import Environment", True),
        ("clouds.azure.site", "import pulumi", True),
        ("longhaul.cli", "from clouds.azure import session", False),
        ("components.render.etcd", "from components.model import Environment", False),
        ("components.render.etcd", "from components.azure import names", True),
        ("components.azure.vault", "import pulumi", False),
        ("components.azure.vault", "import lab.state", True),
        ("components.azure.vault", "def f():\n    from longhaul import cli", True),
        ("components.azure.vault", "import stacks.__main__", True),
        ("stacks.__main__", "from components.environment.cluster import Cluster", False),
        ("stacks.__main__", "from longhaul import cli", True),
        ("longhaul.cli", "from components.model import load", False),
        ("longhaul.cli", "from components.azure import vault", True),
        ("longhaul.cli", "from lab import state", True),
        ("longhaul.project.lab_seam", "from lab import state", False),
        ("longhaul.client.profile", "from longhaul.client import files", False),
        ("longhaul.client.profile", "from longhaul.terminal.say import say", False),
        ("longhaul.client.profile", "from longhaul.project.context import context", True),
        ("longhaul.cli", "from longhaul.client import files", False),
        ("lab.daemon", "from longhaul import cli", True),
        ("lab.daemon", "from longhaul.artifacts.http_app import depot_app", False),
        ("lab.daemon", "from contract.kubernetes.api import Api", False),
        ("contract.kubernetes.api", "from longhaul.terminal.exits import CommandError", True),
        ("longhaul.autoscaler.command", "from services.autoscaler import evaluation", False),
        ("longhaul.artifacts.layout", "from services.autoscaler import evaluation", True),
        ("services.autoscaler.evaluation", "from clouds.registry import cloud_of", False),
        ("services.autoscaler.evaluation", "from components.model import load", False),
        ("services.autoscaler.evaluation", "from components.render import etcd", True),
        ("services.autoscaler.evaluation", "from longhaul.terminal.exits import CommandError", True),
        ("services.autoscaler.evaluation", "import pulumi", True),
        ("longhaul.artifacts.layout", "from longhaul.toolchain import tools", False),
        ("longhaul.artifacts.layout", "from longhaul import cli", True),
        ("longhaul.artifacts.layout", "from lab import base_system", True),
        ("lab.daemon", "from components.environment.cluster import Cluster", True),
        ("lab.daemon", "from pulumi.runtime.proto import provider_pb2", False),
    ],
)
def test_the_rule_itself(module: str, line: str, refused: bool) -> None:
    assert any(forbidden(found) for found in imports(line, module)) == refused


def test_the_model_and_the_components_are_looked_at() -> None:
    assert {
        "components.model.network.address_plan",
        "components.render.etcd",
        "components.environment.cluster",
        "longhaul.cli",
    } <= set(MODULES)
    targets = {found.target for found in all_imports()}
    assert "components.model.environment.Environment" in targets


def loaded(start: str) -> set[str]:
    """Return every module of the project that importing ``start`` loads, and what these import from outside."""
    seen: set[str] = set()
    outside: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        parent = module.rpartition(".")[0]
        waiting += [parent] if parent in MODULES else []
        for found in imports_of(module):
            name = own(found.target)
            if name is not None and found.at_run_time:
                waiting.append(name)
            elif found.at_run_time:
                outside.add(found.target)
    return seen | outside


@pytest.mark.parametrize("module", ["components.model", "components.reference.generate", "components.render"])
def test_what_others_may_use_loads_no_pulumi(module: str) -> None:
    assert not {name for name in loaded(module) if is_pulumi(name)}


def test_pulumi_is_seen_where_it_is() -> None:
    assert any(is_pulumi(name) for name in loaded("components.environment.cluster"))


def circles(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the modules that import themselves through others, each with the imports that are part of a circle."""
    while True:
        free = {target for targets in edges.values() for target in targets} - set(edges)
        emptied = {module for module, targets in edges.items() if not targets - free}
        if not emptied:
            return {module: targets - free for module, targets in edges.items()}
        edges = {module: targets - free - emptied for module, targets in edges.items() if module not in emptied}


def crosses(found: Import) -> bool:
    """Return whether a command's folder, which has its ``command.py``, is imported from outside; the list of commands
    names each."""
    room, target = (".".join(name.split(".")[:2]) for name in (found.module, found.target))
    return target.startswith("longhaul.") and f"{target}.command" in MODULES and room not in (target, "longhaul.cli")


def test_no_folder_of_a_command_is_imported_by_another() -> None:
    """Commands use what lies in shared folders."""
    assert [str(found) for found in all_imports() if crosses(found)] == []


@pytest.mark.parametrize(
    ("module", "line", "refused"),
    [
        ("longhaul.up.command", "from longhaul.status.collection import collect", True),
        ("longhaul.engine.run_log", "def f():\n    from longhaul.up import phases", True),
        ("lab.up", "from longhaul.plan import raw", True),
        ("longhaul.up.command", "from longhaul.up import phases", False),
        ("longhaul.up.command", "from longhaul.engine import options", False),
        ("longhaul.cli.command_list", "from longhaul.up import command as up", False),
    ],
)
def test_a_crossing_is_seen(module: str, line: str, refused: bool) -> None:
    assert any(crosses(found) for found in imports(line, module)) == refused


def test_there_is_no_circle_of_imports() -> None:
    """Modules in a circle have no order in which they can be read. Imports inside functions and for types count as
    well."""
    edges: dict[str, set[str]] = {}
    for found in all_imports():
        target = own(found.target)
        if target is not None and target != found.module:
            edges.setdefault(found.module, set()).add(target)
    assert circles(edges) == {}


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b", "c"}, "b": {"a"}}) == {"a": {"b"}, "b": {"a"}}
    assert circles({"a": {"b", "c"}, "b": {"c"}}) == {}
