"""Everything that is generated from the model is current and complete."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from clouds.base.section import Section
from components.model import load
from components.model.environment import Environment
from components.model.hosts.section import Hosts
from components.model.loading.load import environment_files
from components.model.loading.schema import Schema, hosts_schema, schema_of, stack_schema
from components.reference import generate as reference
from components.reference.environment_page import sections
from components.reference.mermaid import topology
from tests.support.hosts import stack_file


def test_everything_generated_is_current(root: Path) -> None:
    stale = sorted(str(path) for path in reference.out_of_date(root))
    assert stale == [], "run: python -m components.reference.generate"


@pytest.mark.parametrize(("page", "name"), [("docs/lab.md", "lab"), ("docs/map.md", "prod")])
def test_pages_show_the_topologies(root: Path, page: str, name: str) -> None:
    text = (root / page).read_text(encoding="utf-8")
    assert f"topology:{name}" in reference.marks(text)
    assert topology(load(stack_file(name))) in text


def test_the_readme_names_every_page_once(root: Path) -> None:
    index = (root / "README.md").read_text(encoding="utf-8").split("\n## Documents\n")[1].split("\n## ")[0]
    pages = [path.relative_to(root).as_posix() for path in root.glob("docs/**/*.md")]
    assert sorted(link for link in links(index) if link.endswith(".md")) == sorted([*pages, "CHANGELOG.md"])


def test_every_mark_on_every_page_is_one_that_is_filled(root: Path) -> None:
    pages = [page for page in (*root.glob("*.md"), *root.glob("docs/**/*.md")) if "<!-- /" in page.read_text()]
    assert {page.relative_to(root) for page in pages} == set(reference.MARKED)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        marks = reference.marks(text)
        assert {mark.split(":")[0] for mark in marks} <= set(reference.PARTS)
        assert len(re.findall(r"<!-- /", text)) == len(marks)


def every_section(model: type[Section] = Section) -> Iterator[type[Section]]:
    """Yield every section of the model."""
    for section in model.__subclasses__():
        if section.__module__.startswith(("clouds.", "components.model.")):
            yield section
            yield from every_section(section)


def undocumented(section: type[Section]) -> list[str]:
    """Return the names of the section and of its fields that have no description."""
    fields = [f"{section.__name__}.{name}" for name, field in section.model_fields.items() if not field.description]
    return fields if section.__doc__ else [section.__name__, *fields]


def test_every_field_is_documented() -> None:
    assert {"Environment", "Pool", "AzureSite", "Host"} <= {section.__name__ for section in every_section()}
    assert [bare for section in every_section() for bare in undocumented(section)] == []


def test_a_field_without_documentation_is_found() -> None:
    class Bare(Section):
        """A section."""

        said: int
        """Something."""
        unsaid: int

    assert undocumented(Bare) == ["Bare.unsaid"]


def test_the_page_has_every_key_of_every_section(root: Path) -> None:
    page = (root / reference.ENVIRONMENT_PAGE).read_text(encoding="utf-8")
    tables = {part.split('"', 1)[0]: part for part in page.split('<a id="')[1:]}
    for model in (Environment, Hosts):
        for section in sections(schema_of(model)).values():
            if section.anchor != "hosts":
                keys = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| ", tables[section.anchor], re.MULTILINE)
                assert set(section.node["properties"]) <= set(keys)
    assert "| `hosts` | list of: [Host](#host) |" in page


def test_what_is_internal_is_nowhere_to_be_seen() -> None:
    assert "hosts" in Environment.model_fields
    environment = stack_schema()["$defs"]["Environment"]
    assert "hosts" not in environment["properties"]
    assert "Host" not in stack_schema()["$defs"]


def links(text: str) -> Iterator[str]:
    return (match[1] for match in re.finditer(r"\]\(([^)\s]+)\)", text))


@pytest.mark.parametrize("name", ["docs/reference/environment.md", "docs/address-plan.md"])
def test_links_lead_somewhere(root: Path, name: str) -> None:
    page = root / name
    text = page.read_text(encoding="utf-8")
    anchors = set(re.findall(r'<a id="([^"]+)">', text))
    for link in links(text):
        if link.startswith("#"):
            assert link[1:] in anchors
        elif "://" not in link:
            assert (page.parent / link.split("#")[0]).exists(), link


def test_every_page_links_to_files_that_are_there(root: Path) -> None:
    pages = [*root.glob("*.md"), *root.glob("docs/*.md")]
    assert len(pages) > 30
    outside = re.compile(r"[a-z]+:|#")
    gone = [
        f"{page.relative_to(root)}: {link}"
        for page in pages
        for link in links(page.read_text(encoding="utf-8"))
        if not outside.match(link) and not (page.parent / link.split("#")[0]).exists()
    ]
    assert gone == []


@pytest.mark.parametrize("make", [stack_schema, hosts_schema])
def test_the_schemas_are_schemas(make: Any) -> None:
    schema: Schema = make()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(re.findall(r"#/\$defs/(\w+)", json.dumps(schema))) <= set(schema["$defs"])


def test_the_schemas_accept_the_stack_files(root: Path) -> None:
    folders = (root / "stacks", root / "examples")
    stacks = [path for folder in folders for path in environment_files(folder)]
    hosts = [path for folder in folders for path in folder.glob("hosts.*.yaml")]
    assert len(stacks) == 5
    assert len(hosts) == 4
    for path, schema in [*((path, stack_schema()) for path in stacks), *((path, hosts_schema()) for path in hosts)]:
        jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_what_pulumi_itself_keeps_in_a_stack_file_is_accepted(root: Path) -> None:
    stack = yaml.safe_load((root / "stacks" / "Pulumi.lab.yaml").read_text())
    stack["encryptionsalt"] = "v1:abc"
    stack["config"]["pulumi:tags"] = {"a": "b"}
    jsonschema.validate(stack, stack_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"config": {}}, stack_schema())


@pytest.fixture
def project(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy of the files that the generator reads and writes."""
    shutil.copytree(root / "stacks", tmp_path / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(root / "examples", tmp_path / "examples")
    shutil.copytree(root / "docs", tmp_path / "docs")
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    return tmp_path


def test_the_command_writes_what_is_out_of_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference.main([])
    assert reference.main(["--check"]) == 0
    capsys.readouterr()

    (project / reference.STACK_SCHEMA).unlink()
    plan = project / "docs" / "address-plan.md"
    written = plan.read_text(encoding="utf-8")
    plan.write_text(written.replace("10.", "11."), encoding="utf-8")
    assert reference.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert f"{reference.STACK_SCHEMA} is out of date" in said
    assert "docs/address-plan.md is out of date" in said
    assert "docs/lab.md" not in said
    assert not (project / reference.STACK_SCHEMA).exists()

    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0
    assert (project / reference.STACK_SCHEMA).exists()


def test_what_people_write_around_the_marks_is_left_alone(project: Path) -> None:
    page = project / "docs" / "lab.md"
    before = page.read_text(encoding="utf-8")
    page.write_text("# Mine\n" + re.sub(r"flowchart TB", "flowchart XX", before), encoding="utf-8")
    reference.main([])
    assert page.read_text(encoding="utf-8") == "# Mine\n" + before
