"""Generate the files that follow from the model and the contract: JSON Schemas, the reference page, and the marked
parts of other pages.

    python -m components.reference.generate           write the files that are out of date
    python -m components.reference.generate --check   only list them, and exit 1

A marked part of a Markdown file lies between ``<!-- topology:prod -->`` and ``<!-- /topology -->``. The first mark
names the renderer (:data:`PARTS`) and its subject.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from components.model.environment import Environment
from components.model.loading.load import environment_files, load
from components.model.loading.schema import Schema, hosts_schema, stack_schema
from components.model.policy.judging import rules_tables
from components.reference.address_tables import environment_table, site_table, sizes_table
from components.reference.environment_page import environment_page
from components.reference.mermaid import topology
from components.reference.metric_tables import metric_tables
from components.reference.reason_tables import reason_tables

ROOT = Path(__file__).parents[2]
FOLDERS = ("stacks", "examples")
"""Folders of the environments that pages quote."""

ENVIRONMENT_PAGE = Path("docs/reference/environment.md")
STACK_SCHEMA = Path("docs/reference/environment.schema.json")
HOSTS_SCHEMA = Path("docs/reference/hosts.schema.json")
MARKED = tuple(
    Path("docs", page)
    for page in ("address-plan.md", "lab.md", "map.md", "policy.md", "reference/metrics.md", "reference/reasons.md")
)
"""Pages that people write and that have generated parts."""

Loader = Callable[[str], Environment]

_MARK = re.compile(r"(<!-- (?P<part>[a-z-]+):(?P<of>[a-z0-9/-]+) -->\n).*?(<!-- /(?P=part) -->)", re.DOTALL)


def _fence(kind: str, text: str) -> str:
    return f"```{kind}\n{text}```\n"


PARTS: Mapping[str, Callable[[str, Loader], str]] = {
    "topology": lambda of, environment: _fence("mermaid", topology(environment(of))),
    "address-plan": lambda of, environment: environment_table(environment(of)),
    "site-plan": lambda of, environment: site_table(environment(of.split("/")[0]), of.split("/")[1]),
    "block-sizes": lambda _, __: sizes_table(),
    "rules": lambda _, __: rules_tables(),
    "reasons": lambda of, _: reason_tables(of),
    "metrics": lambda of, _: metric_tables(of),
}
"""Renderers of marked parts, by the word in the mark."""


def marks(text: str) -> list[str]:
    """Return the marks in ``text``, such as ``topology:prod``."""
    return [f"{match['part']}:{match['of']}" for match in _MARK.finditer(text)]


def filled(text: str, environment: Loader) -> str:
    """Return ``text`` with its marked parts rendered."""
    return _MARK.sub(lambda match: f"{match[1]}{PARTS[match['part']](match['of'], environment)}{match[4]}", text)


def generated(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield every generated file of the project at ``root``: its relative path and the text that it should hold."""
    folders = [root / name for name in FOLDERS]
    stacks = _texts(root, (path for folder in folders for path in environment_files(folder)))
    hosts = _texts(root, (path for folder in folders for path in sorted(folder.glob("hosts.*.yaml"))))
    yield ENVIRONMENT_PAGE, environment_page(stacks, hosts)
    yield STACK_SCHEMA, _json(stack_schema())
    yield HOSTS_SCHEMA, _json(hosts_schema())
    for page in MARKED:
        if (root / page).exists():
            text = (root / page).read_text(encoding="utf-8")
            yield page, filled(text, lambda name: load(root / _file_of(name, stacks)))


def _texts(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}


def _file_of(name: str, stacks: Iterable[str]) -> str:
    """Return the file of an environment, by its name."""
    return next(path for path in stacks if path.endswith(f"/Pulumi.{name}.yaml"))


def _json(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def out_of_date(root: Path) -> dict[Path, str]:
    """Return the text of each generated file that is missing or has other content."""
    return {
        path: text
        for path, text in generated(root)
        if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text
    }


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m components.reference.generate", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    check = parser.parse_args(arguments).check
    stale = out_of_date(ROOT)
    for path, text in stale.items():
        sys.stdout.write(f"{path} {'is out of date' if check else 'written'}\n")
        if not check:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
    if check and stale:
        sys.stdout.write("run: python -m components.reference.generate\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
