"""Reading environments: everything that is wrong is in one report."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.model import ConfigurationError, Environment, Problem, load, load_directory, parse
from components.model.load import check_neighbours, stack_name
from components.model.schema import CONFIG_KEY
from tests.model import make

GOLDEN = Path(__file__).parent / "golden" / "many_problems"


def write(directory: Path, environment: dict[str, Any], *, hosts: object = None, name: str = "test") -> Path:
    """The stack file of ``environment``, with its hosts file beside it."""
    path = directory / f"Pulumi.{name}.yaml"
    path.write_text(yaml.safe_dump({"config": {CONFIG_KEY: environment}}, sort_keys=False))
    if hosts is not None:
        (directory / f"hosts.{name}.yaml").write_text(yaml.safe_dump(hosts))
    return path


def problems_of(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(path)
    return caught.value.problems


def only(path: Path) -> Problem:
    (problem,) = problems_of(path)
    return problem


def test_every_problem_is_in_one_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN)
    with pytest.raises(ConfigurationError) as caught:
        load(Path("Pulumi.west.yaml"))
    assert f"{caught.value}\n" == Path("report.txt").read_text(encoding="utf-8")


def test_the_stack_files_are_good(root: Path) -> None:
    environments = load_directory(root / "stacks")
    assert {"lab", "prod"} <= set(environments)
    for name, environment in environments.items():
        assert environment.name == name
        check_neighbours(environment, source=root / "stacks" / f"Pulumi.{name}.yaml")


def test_an_environment_that_is_read_is_what_was_written(tmp_path: Path) -> None:
    environment = load(write(tmp_path, make.full(), hosts=make.hosts()))
    assert [host.name for host in environment.hosts] == ["rack-0", "rack-1"]
    written = make.full()
    assert environment.model_dump(mode="json", exclude_unset=True) == written


def test_an_environment_cannot_be_changed() -> None:
    environment = make.environment()
    with pytest.raises(ValueError, match="frozen"):
        environment.name = "other"


def test_parse_needs_no_stack_file(tmp_path: Path) -> None:
    source = tmp_path / "Pulumi.test.yaml"
    (tmp_path / "hosts.test.yaml").write_text(yaml.safe_dump(make.hosts()))
    assert parse(make.full(), source=source, stack="test").hosts
    with pytest.raises(ConfigurationError) as caught:
        parse({**make.full(), "domain": "X"}, source=source, stack="test")
    assert [(problem.file, problem.line, problem.key) for problem in caught.value.problems] == [
        (str(source), None, "domain")
    ]


@pytest.mark.parametrize("name", ["lab", "a-b", "x.y"])
def test_the_stack_is_named_by_its_file(name: str) -> None:
    assert stack_name(Path("stacks") / f"Pulumi.{name}.yaml") == name


def test_a_name_that_is_not_the_stacks(tmp_path: Path) -> None:
    problem = only(write(tmp_path, make.minimal(), name="other"))
    assert (problem.key, problem.write) == ("name", "other")
    assert "'test'" in problem.wrong
    assert "'other'" in problem.wrong


def test_a_stack_file_that_is_not_there(tmp_path: Path) -> None:
    problem = only(tmp_path / "Pulumi.none.yaml")
    assert str(problem) == f"{tmp_path}/Pulumi.none.yaml: does not exist\n    write: the name of a file that exists"


def test_bad_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.test.yaml"
    path.write_text("config:\n  a: b: c\n")
    problem = only(path)
    assert (problem.line, problem.write) == (2, "valid YAML")
    assert "mapping values are not allowed" in problem.wrong


@pytest.mark.parametrize(
    ("text", "line", "wrong"),
    [
        ("a: 1\n", None, "is missing"),
        ("config: 3\n", 1, "is missing"),
        (f"config:\n  {CONFIG_KEY}:\n", 2, "is missing"),
        (f"config:\n  {CONFIG_KEY}: [1]\n", 2, "is not a mapping"),
    ],
)
def test_a_stack_file_without_an_environment(tmp_path: Path, text: str, line: int | None, wrong: str) -> None:
    path = tmp_path / "Pulumi.test.yaml"
    path.write_text(text)
    problem = only(path)
    assert (problem.key, problem.line, problem.wrong) == (f"config.{CONFIG_KEY}", line, wrong)


def test_a_hosts_file_that_is_not_there(tmp_path: Path) -> None:
    problem = only(write(tmp_path, make.full()))
    assert problem.file == str(tmp_path / "hosts.test.yaml")
    assert "does not exist" in problem.wrong
    assert "Pulumi.test.yaml" in problem.wrong


def test_hosts_in_the_stack_file(tmp_path: Path) -> None:
    problem = only(write(tmp_path, {**make.minimal(), "hosts": []}))
    assert (problem.key, problem.write) == ("hosts", "bare_metal: <name of that file>")


def with_hosts(*hosts: dict[str, Any]) -> dict[str, Any]:
    return {"hosts": list(hosts)}


def host(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "site": "colo", **more}


@pytest.mark.parametrize(
    ("hosts", "key", "wrong"),
    [
        (with_hosts(host("a"), host("b"), host("a")), "hosts.2.name", "already the name of hosts.0"),
        (with_hosts(host("a", site="weu")), "hosts.0.site", "'weu' is not an on-prem site"),
        (with_hosts(host("a", site="cold")), "hosts.0.site", "'cold' is not an on-prem site"),
        (with_hosts(host("a", address="10.68.0.9")), "hosts.0.address", "not a host's address in 10.68.128.0/17"),
        (with_hosts(host("a", address="10.68.128.0")), "hosts.0.address", "not a host's address"),
        (with_hosts(host("a", address="10.68.255.255")), "hosts.0.address", "not a host's address"),
        (
            with_hosts(host("a", address="10.68.128.11"), host("b")),
            "hosts.0.address",
            "10.68.128.11 is also the address of hosts.1, by its place in the list",
        ),
        (
            with_hosts(host("a"), host("b", address="10.68.128.10")),
            "hosts.1.address",
            "10.68.128.10 is also the address of hosts.0, by its place in the list",
        ),
        (
            with_hosts(host("a", address="10.68.128.99"), host("b", address="10.68.128.99")),
            "hosts.1.address",
            "10.68.128.99 is also the address of hosts.0",
        ),
        (with_hosts(host("test-gw-0")), "hosts.0.name", "gives a machine of its own"),
        (with_hosts(host("test-etcd-3")), "hosts.0.name", "gives a machine of its own"),
    ],
)
def test_bad_hosts(tmp_path: Path, hosts: object, key: str, wrong: str) -> None:
    path = write(tmp_path, make.full(), hosts=hosts)
    problem = only(path)
    assert (problem.file, problem.key) == (str(tmp_path / "hosts.test.yaml"), key)
    assert problem.line is not None
    assert wrong in problem.wrong


def test_more_hosts_than_the_site_has_room_for(tmp_path: Path) -> None:
    raw = make.full()
    raw["sites"]["colo"]["range"] = "10.68.0.0/20"
    problem = only(write(tmp_path, raw, hosts=with_hosts(*(host(f"h{index}") for index in range(129)))))
    assert problem.key == "sites.colo.prefix"
    assert "room for 128 hosts, the hosts file lists 129" in problem.wrong


def changed(*at: str | int, to: object) -> dict[str, Any]:
    raw = make.full()
    place: Any = raw
    for part in at[:-1]:
        place = place[part]
    place[at[-1]] = to
    return raw


@pytest.mark.parametrize(
    ("raw", "key", "wrong", "instead"),
    [
        (
            changed("pools", "gpu", "site", to="use2"),
            "pools.gpu.site",
            "'use2' is not a site",
            "use1 (or one of: use1, weu)",
        ),
        (changed("pools", "gpu", "site", to="colo"), "pools.gpu.site", "'colo' is on-prem", "one of: use1, weu"),
        (
            changed("pools", "gpu", "machine_type", to="p5.48xlarg"),
            "pools.gpu.machine_type",
            "'p5.48xlarg' is not a machine type that Longhaul knows",
            "p5.48xlarge (or one of",
        ),
        (
            changed("pools", "gpu", "machine_type", to="Huge"),
            "pools.gpu.machine_type",
            "'Huge' is a type of azure, and use1 is on aws",
            "one of: g5.12xlarge",
        ),
        (changed("pools", "gpu", "min", to=5), "pools.gpu.min", "5 is more than max, 4", "at most 4"),
        (changed("pools", "gpu", "fallbacks", to=["gpu"]), "pools.gpu.fallbacks.0", "'gpu' is not another pool", "big"),
        (changed("control_plane", "site", to="wuu"), "control_plane.site", "'wuu' is not a site", "weu"),
        (changed("control_plane", "site", to="use1"), "control_plane.site", "'use1' is not on Azure", "weu"),
        (
            changed("control_plane", "etcd", "machine_type", to="Standard_D8s_v5"),
            "control_plane.etcd.machine_type",
            "'Standard_D8s_v5' has no local SSD, which etcd needs",
            "Standard_L8s_v3",
        ),
        (
            changed("links", to=[{"between": ["weu", "cold"], "kind": "existing"}]),
            "links.0.between.1",
            "'cold' is not a site",
            "colo",
        ),
        (
            changed("links", to=[{"between": ["weu", "weu"], "kind": "existing"}]),
            "links.0.between",
            "'weu' is both ends",
            "two different sites",
        ),
        (
            changed("links", to=[{"between": pair, "kind": "existing"} for pair in (["weu", "colo"], ["colo", "weu"])]),
            "links.1.between",
            "already connected by links.0",
            "each pair of sites once",
        ),
        (
            changed("sites", "use1", "range", to="10.64.0.0/16"),
            "sites.use1.range",
            "10.64.0.0/16 of use1 overlaps 10.64.0.0/16 of weu",
            "such as 10.65.0.0/16",
        ),
        (changed("supernet", to="10.64.0.0/17"), "supernet", "10.64.0.0/17 is smaller than /16", "/16 or larger"),
        (changed("supernet", to="11.0.0.0/8"), "supernet", "11.0.0.0/8 is not private", "10.0.0.0/8"),
        (
            changed("sites", "colo", "gateways", 1, "name", to="gw-0"),
            "sites.colo.gateways.1.name",
            "'gw-0' is already a gateway of colo",
            "colo-gw-0",
        ),
        (
            changed("sites", "colo", "gateways", 1, "name", to="api-7"),
            "sites.colo.gateways.1.name",
            "begins as the name of a control-plane machine",
            "colo-api-7",
        ),
        (
            changed("pools", "etcd", to={"site": "weu", "machine_type": "Huge", "max": 1}),
            "pools.etcd",
            "is the name of a control-plane role",
            "none of etcd, events, api",
        ),
        (changed("format", to=2), "format", "2 is newer than this release, which reads 1", "the release"),
        (changed("format", to="1"), "format", "'1' is not a format", "1"),
        (changed("supernet", to="10.64.0.1/12"), "supernet", "bits beyond the prefix", "10.64.0.0/12"),
        (changed("sites", "weu", "zones", to=[1]), "sites.weu.zones.0", "1 is not text", '"1", in quotes'),
        (changed("sites", "weu", "kind", to="gcp"), "sites.weu.kind", "'gcp' is not a kind of site", "aws, azure or"),
    ],
)
def test_bad_input(tmp_path: Path, raw: dict[str, Any], key: str, wrong: str, instead: str) -> None:
    path = write(tmp_path, raw, hosts=make.hosts())
    problem = only(path)
    assert (problem.file, problem.key) == (str(path), key)
    assert problem.line is not None
    assert wrong in problem.wrong
    assert instead in problem.write


def test_a_control_plane_that_does_not_fit_its_subnets() -> None:
    raw = make.minimal()
    raw["sites"]["weu"]["prefix"] = 20
    raw["control_plane"]["etcd"]["members"] = 7
    raw["control_plane"]["api"]["servers"] = 6
    with pytest.raises(ConfigurationError) as caught:
        make.environment(raw)
    assert [problem.key for problem in caught.value.problems] == [
        "control_plane.etcd.members",
        "control_plane.api.servers",
    ]
    assert all("at most 5" in problem.write for problem in caught.value.problems)


def test_links_that_would_have_one_name() -> None:
    names = ("weu", "a", "b-c", "a-b", "c")
    with pytest.raises(ConfigurationError, match="would both be called a-b-c"):
        make.environment(sites=dict.fromkeys(names, make.AZURE))


def test_what_rests_on_a_wrong_value_is_not_said(tmp_path: Path) -> None:
    """A site of unknown kind, a supernet that is none: neither the pools there nor the ranges are wrong for that."""
    raw = make.full()
    raw["sites"]["use1"] = {"kind": "gcp"}
    raw["supernet"] = "everything"
    assert [problem.key for problem in problems_of(write(tmp_path, raw, hosts=make.hosts()))] == [
        "supernet",
        "sites.use1.kind",
    ]


def test_problems_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    raw = make.full()
    raw["access"]["administrator_key"] = "x"
    raw["domain"] = "x"
    raw["control_plane"]["site"] = "x"
    found = problems_of(write(tmp_path, raw, hosts=with_hosts(host("a"), host("a"))))
    assert [problem.key for problem in found] == [
        "domain",
        "control_plane.site",
        "access.administrator_key",
        "hosts.1.name",
    ]


def other(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(make.minimal()), **changes}


def test_environments_that_overlap_are_both_named(tmp_path: Path) -> None:
    first = write(tmp_path, other(name="first", supernet="10.0.0.0/8"), name="first")
    second = write(tmp_path, other(name="second", supernet="10.64.0.0/12"), name="second")
    with pytest.raises(ConfigurationError) as caught:
        load_directory(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.key, problem.line) == (str(second), "supernet", 5)
    assert problem.wrong == f"10.64.0.0/12 of second overlaps 10.0.0.0/8 of first, in {first}"
    for path, neighbour in ((first, second), (second, first)):
        with pytest.raises(ConfigurationError, match=str(neighbour)):
            check_neighbours(load(path), source=path)


def test_environments_apart_are_good(tmp_path: Path) -> None:
    for name, supernet in (("first", "10.0.0.0/12"), ("second", "10.16.0.0/12")):
        write(tmp_path, other(name=name, supernet=supernet), name=name)
    environments = load_directory(tmp_path)
    assert list(environments) == ["first", "second"]
    check_neighbours(environments["first"], source=tmp_path / "Pulumi.first.yaml")


def test_a_neighbour_that_is_wrong_elsewhere_still_has_its_range(tmp_path: Path) -> None:
    write(tmp_path, other(name="first", domain="x"), name="first")
    path = write(tmp_path, other(name="second"), name="second")
    with pytest.raises(ConfigurationError, match="overlaps"):
        check_neighbours(load(path), source=path)
    with pytest.raises(ConfigurationError) as caught:
        load_directory(tmp_path)
    assert [problem.key for problem in caught.value.problems] == ["domain", "supernet"]


@pytest.mark.parametrize(
    "text", ["a: [", "config: 1", f"config: {{{CONFIG_KEY}: {{format: 9, supernet: 10.64.0.0/12}}}}"]
)
def test_a_neighbour_that_cannot_be_read_is_its_own_problem(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, other(), name="test")
    (tmp_path / "Pulumi.broken.yaml").write_text(text)
    check_neighbours(load(path), source=path)
    with pytest.raises(ConfigurationError) as caught:
        load_directory(tmp_path)
    assert {problem.file for problem in caught.value.problems} == {str(tmp_path / "Pulumi.broken.yaml")}


def test_problems_count_themselves() -> None:
    problem = Problem(file="f", line=3, key="a.b", wrong="is missing", write="b: 1")
    assert (
        str(ConfigurationError([problem])) == "1 problem in the environment:\n  f:3: a.b: is missing\n    write: b: 1"
    )
    assert str(ConfigurationError([problem, problem])).startswith("2 problems in the environment:\n")


def test_thousands_of_hosts_each_have_their_place(tmp_path: Path) -> None:
    raw = make.full()
    hosts = with_hosts(*(host(f"rack-{index}") for index in range(7500)))
    environment: Environment = load(write(tmp_path, raw, hosts=hosts))
    assert len(environment.hosts) == 7500
