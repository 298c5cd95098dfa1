"""Every field alone: wrong types, missing keys and unknown keys are each reported once, at their key and line."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from clouds.base.faults import Location
from components.model import ConfigurationError, Environment, Problem, load
from components.model.hosts.section import Hosts
from components.model.loading.schema import CONFIG_KEY, hosts_schema, sample, schema_of, stack_schema, walk
from components.model.loading.validate import validate
from tests.model import make
from tests.support.project import dumped

STACK = {"config": {CONFIG_KEY: make.full()}}
HOSTS = make.hosts()
WRONG: tuple[Any, ...] = (None, "", ["x"], {"x": {}})
NAMES = (
    *("sites", "pools", "machine_types", "labels", "tags", "vault_officers", "administrators", "node_subnets"),
    *("issuers", "groups", "namespaces", "required_claims", "teams", "shares"),
)
"""Mappings whose keys the user chooses."""


def locations(value: Any, at: Location = ()) -> Iterator[Location]:
    """Yield every place in ``value``, except the top."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inside in parts:
        yield (*at, part)
        yield from locations(inside, (*at, part))


def inside(value: Any, at: Location) -> Any:
    for part in at:
        value = value[part]
    return value


def problems(directory: Path, environment: dict[str, Any], hosts: dict[str, Any]) -> tuple[Problem, ...]:
    """Return the problems that are found in these two as files."""
    stack = directory / "Pulumi.test.yaml"
    stack.write_text(dumped({"config": {CONFIG_KEY: environment}}, sort_keys=False))
    (directory / "hosts.test.yaml").write_text(dumped(hosts, sort_keys=False))
    try:
        load(stack)
    except ConfigurationError as error:
        return error.problems
    return ()


def line_of(path: Path, at: Location) -> int:
    """Return the line of a key or an entry, as PyYAML itself gives it."""
    node = yaml.compose(path.read_text(), Loader=yaml.CSafeLoader)
    line = 0
    for part in at:
        if isinstance(node, yaml.MappingNode):
            key, node = next((key, value) for key, value in node.value if key.value == part)
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


@cache
def validator(make_schema: Callable[[], dict[str, Any]]) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(make_schema())


def valid(schema: Callable[[], dict[str, Any]], value: Any) -> bool:
    """Return whether ``value`` is valid for an editor, which reads the schema."""
    return validator(schema).is_valid(value)


def test_the_full_environment_is_valid_and_has_every_key_there_is(tmp_path: Path) -> None:
    assert problems(tmp_path, make.full(), HOSTS) == ()
    assert valid(stack_schema, STACK)
    assert valid(hosts_schema, HOSTS)
    for model, raw in ((Environment, make.full()), (Hosts, HOSTS)):
        schema = schema_of(model)
        written = {(None, key) for key in raw}
        for at in locations(raw):
            path = _with_kinds(raw, at)
            _, node = walk(schema, path)
            assert node is not None, at
            if "properties" in node:
                written |= {(node["title"], key) for key in inside(raw, at)}
        known = {(None, key) for key in schema["properties"]}
        for definition in schema["$defs"].values():
            known |= {(definition["title"], key) for key in definition["properties"]}
        assert written == known


def _with_kinds(raw: Any, at: Location) -> Location:
    """Return ``at`` as pydantic writes it: with the kind of a site after its name."""
    if at[:1] == ("sites",) and len(at) > 1:
        return (*at[:2], raw["sites"][at[1]]["kind"], *at[2:])
    return at


@pytest.mark.parametrize("at", list(locations(make.full())), ids=lambda at: ".".join(map(str, at)))
def test_a_wrong_type_is_reported_once_at_its_place(tmp_path: Path, at: Location) -> None:
    raw = make.full()
    wrong = "text" if isinstance(inside(raw, at), (bool, int, dict, list)) else ["a", "list"]
    inside(raw, at[:-1])[at[-1]] = wrong
    found = problems(tmp_path, raw, HOSTS)
    assert [problem.key for problem in found] == [".".join(map(str, at))]
    assert found[0].file == str(tmp_path / "Pulumi.test.yaml")
    assert found[0].line == line_of(tmp_path / "Pulumi.test.yaml", ("config", CONFIG_KEY, *at))
    assert found[0].write
    assert not valid(stack_schema, {"config": {CONFIG_KEY: raw}})


@pytest.mark.parametrize(
    "at",
    [at for at in locations(make.full()) if isinstance(inside(make.full(), at), dict)],
    ids=lambda at: ".".join(map(str, at)),
)
def test_a_section_without_a_value_is_refused(tmp_path: Path, at: Location) -> None:
    raw = make.full()
    inside(raw, at[:-1])[at[-1]] = None
    (found,) = problems(tmp_path, raw, HOSTS)
    assert (found.key, found.wrong) == (".".join(map(str, at)), "nothing is not a mapping")
    assert found.write
    assert not valid(stack_schema, {"config": {CONFIG_KEY: raw}})


@pytest.mark.parametrize("at", list(locations(HOSTS)), ids=lambda at: ".".join(map(str, at)))
def test_a_wrong_type_in_the_hosts_file(tmp_path: Path, at: Location) -> None:
    raw = copy.deepcopy(HOSTS)
    inside(raw, at[:-1])[at[-1]] = "text" if isinstance(inside(raw, at), (int, dict, list)) else ["a", "list"]
    found = problems(tmp_path, make.full(), raw)
    assert [problem.key for problem in found] == [".".join(map(str, at))]
    assert found[0].file == str(tmp_path / "hosts.test.yaml")
    assert found[0].line == line_of(tmp_path / "hosts.test.yaml", at)
    assert not valid(hosts_schema, raw)


def required(model: type[Environment] | type[Hosts], raw: Any) -> Iterator[Location]:
    schema = schema_of(model)
    for at in locations(raw):
        *above, key = _with_kinds(raw, at)
        _, node = walk(schema, tuple(above))
        if node is not None and key in node.get("required", ()):
            yield at


@pytest.mark.parametrize("at", list(required(Environment, make.full())), ids=lambda at: ".".join(map(str, at)))
def test_a_missing_key_is_reported_with_what_to_write(tmp_path: Path, at: Location) -> None:
    raw = make.full()
    del inside(raw, at[:-1])[at[-1]]
    found = problems(tmp_path, raw, HOSTS)
    assert [(problem.key, problem.wrong) for problem in found] == [(".".join(map(str, at)), "is missing")]
    assert not valid(stack_schema, {"config": {CONFIG_KEY: raw}})
    if at[-1] == "kind" and at[0] == "sites":
        assert found[0].write == "kind: aws, azure or onprem"
    else:
        inside(raw, at[:-1]).update(yaml.safe_load(found[0].write))
        refused = {".".join(map(str, finding.at)) for finding in validate(Environment, raw).findings}
        assert refused == ({"access.administrator_key", OFFICER} & set(_placeholders(found[0].write)))


OFFICER = "access.vault_officers.<object id of who runs up>"


def _placeholders(suggested: str) -> Iterator[str]:
    """Yield the keys of placeholders, which nothing accepts, in what is to be written."""
    if "<your SSH public key>" in suggested:
        yield "access.administrator_key"
    if "<object id of who runs up>" in suggested:
        yield OFFICER


def mappings(raw: Any) -> Iterator[Location]:
    """Yield every mapping whose keys Longhaul defines."""
    yield ()
    yield from (at for at in locations(raw) if isinstance(inside(raw, at), dict) and at[-1] not in NAMES)


@pytest.mark.parametrize("at", list(mappings(make.full())), ids=lambda at: ".".join(map(str, at)) or "top")
def test_an_unknown_key_is_reported(tmp_path: Path, at: Location) -> None:
    raw = make.full()
    inside(raw, at)["zzz"] = "blue"
    found = problems(tmp_path, raw, HOSTS)
    assert [problem.key for problem in found] == [".".join(map(str, (*at, "zzz")))]
    assert found[0].wrong == "is not a key that Longhaul knows"
    assert all(key in found[0].write for key in inside(make.full(), at))
    assert not valid(stack_schema, {"config": {CONFIG_KEY: raw}})


def test_a_misspelt_key_is_recognised(tmp_path: Path) -> None:
    raw = make.full()
    raw["pools"]["gpu"]["machine_typ"] = raw["pools"]["gpu"].pop("machine_type")
    found = problems(tmp_path, raw, HOSTS)
    assert {problem.key: problem.write for problem in found} == {
        "pools.gpu.machine_type": "machine_type: p5.48xlarge",
        "pools.gpu.machine_typ": "machine_type, if that was meant",
    }


@pytest.mark.parametrize("model", [Environment, Hosts])
def test_a_sample_of_each_section_is_valid(model: type[Environment] | type[Hosts]) -> None:
    schema = schema_of(model)
    assert validate(model, sample(schema, schema)).findings == ()


@pytest.mark.parametrize("model", [Environment, Hosts])
def test_samples_stand_in_for_anything_that_is_wrong(model: type[Environment] | type[Hosts]) -> None:
    whole: dict[str, Any] = make.full() if model is Environment else HOSTS
    for at in locations(whole):
        for wrong in WRONG:
            raw = copy.deepcopy(whole)
            inside(raw, at[:-1])[at[-1]] = wrong
            assert validate(model, raw).value is not None, (at, wrong)
