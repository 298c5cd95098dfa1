"""Reading environments: one report contains every problem."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.model import ConfigurationError, Environment, Problem, load, load_directory, parse
from components.model.loading.document import AS_YAML
from components.model.loading.load import check_neighbours, stack_name
from components.model.loading.schema import CONFIG_KEY
from tests.model import make
from tests.model.files import only, problems_of, write
from tests.support.golden import Golden

GOLDEN = Path(__file__).parent / "golden" / "many_problems"


def test_every_problem_is_in_one_report(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.chdir(GOLDEN)
    with pytest.raises(ConfigurationError) as caught:
        load(Path("Pulumi.west.yaml"))
    golden("many_problems/report.txt", f"{caught.value}\n")


@pytest.mark.parametrize(("folder", "names"), [("stacks", {"full", "lab", "twin"}), ("examples", {"hybrid", "prod"})])
def test_the_stack_files_are_good(root: Path, folder: str, names: set[str]) -> None:
    environments = load_directory(root / folder)
    assert set(environments) == names
    for name, environment in environments.items():
        assert environment.name == name
        check_neighbours(environment, source=root / folder / f"Pulumi.{name}.yaml")


def test_a_second_stack_is_no_environment(root: Path, tmp_path: Path) -> None:
    assert "lab-objects" not in load_directory(root / "stacks")
    assert (root / "stacks" / "Pulumi.lab-objects.yaml").exists()
    raw = {**make.full(), "name": "x-objects"}
    with pytest.raises(ConfigurationError, match="ends with '-objects'"):
        parse(raw, source=tmp_path / "Pulumi.x-objects.yaml", stack="x-objects")


def test_an_environment_that_is_read_is_what_was_written(tmp_path: Path) -> None:
    environment = load(write(tmp_path, make.full(), hosts=make.hosts()))
    assert [host.name for host in environment.hosts] == ["rack-0", "rack-1"]
    written = make.full()
    assert environment.model_dump(mode="json", exclude_unset=True) == written


def test_an_environment_cannot_be_changed() -> None:
    environment = make.environment()
    with pytest.raises(ValueError, match="frozen"):
        environment.name = "other"  # type: ignore[misc]


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
    assert (problem.line, problem.write) == (2, AS_YAML)
    assert problem.wrong == "is not YAML: mapping values are not allowed in this context, at column 7"


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


@pytest.mark.parametrize(
    "name", ["/etc/shadow", "../hosts.test.yaml", "stacks/hosts.yaml", ".", "..", "a" * 129, "a\n"]
)
def test_a_path_is_no_name_of_a_hosts_file(tmp_path: Path, name: str) -> None:
    problem = only(write(tmp_path, make.full() | {"bare_metal": name}))
    assert problem.key == "bare_metal"
    assert problem.file == str(tmp_path / "Pulumi.test.yaml")
    assert "the name of a file in the same folder" in problem.wrong


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.yaml").write_text("hunter2: true\n")
    folder = tmp_path / "stacks"
    folder.mkdir()
    (folder / "hosts.test.yaml").symlink_to("../elsewhere/secret.yaml")
    problem = only(write(folder, make.full()))
    assert "is a link out of its folder, to ../elsewhere/secret.yaml" in problem.wrong
    assert "hunter2" not in str(problem)


def test_hosts_in_the_stack_file(tmp_path: Path) -> None:
    problem = only(write(tmp_path, {**make.minimal(), "hosts": []}))
    assert (problem.key, problem.write) == ("hosts", "bare_metal: <name of that file>")


def test_problems_come_in_the_order_of_the_files(tmp_path: Path) -> None:
    raw = make.full()
    raw["access"]["administrator_key"] = "x"
    raw["domain"] = "x"
    raw["control_plane"]["site"] = "x"
    found = problems_of(write(tmp_path, raw, hosts=make.rack(make.host("a"), make.host("a"))))
    assert [problem.key for problem in found] == [
        "domain",
        "control_plane.site",
        "access.administrator_key",
        "hosts.1.name",
    ]


def test_problems_count_themselves() -> None:
    problem = Problem(file="f", line=3, key="a.b", wrong="is missing", write="b: 1")
    assert (
        str(ConfigurationError([problem])) == "1 problem in the environment:\n  f:3: a.b: is missing\n    write: b: 1"
    )
    assert str(ConfigurationError([problem, problem])).startswith("2 problems in the environment:\n")


def test_thousands_of_hosts_each_have_their_place(tmp_path: Path) -> None:
    raw = make.full() | {"max_nodes": 7505}
    hosts = make.rack(*(make.host(f"rack-{index}") for index in range(7500)))
    environment: Environment = load(write(tmp_path, raw, hosts=hosts))
    assert len(environment.hosts) == 7500


PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0c2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize("text", [PRIVATE, PRIVATE.partition("-----END")[0]], ids=["whole", "cut"])
def test_a_private_key_is_never_shown(text: str, tmp_path: Path) -> None:
    raw = make.minimal()
    raw["access"]["administrator_key"] = text
    raw["tags"] = {"owner": text}
    raw[text] = text
    told = "\n".join(map(str, problems_of(write(tmp_path, raw))))
    assert "c2VjcmV0" not in told
    assert "access.administrator_key: a private key is not an SSH public key" in told


def test_no_control_character_of_a_file_is_shown(tmp_path: Path) -> None:
    told = problems_of(write(tmp_path, {**make.minimal(), "\x1b[2J\x9b\nx.yaml:1": 1, "domain": "\x1b[1m"}))
    assert [one.key for one in told] == ["domain", "?[2J??x.yaml:1"]
    assert all(text.isprintable() for one in told for text in (one.key, one.wrong, one.write))


def test_what_is_suggested_for_missing_access_is_accepted_by_nothing(tmp_path: Path) -> None:
    raw = make.minimal()
    del raw["access"]
    suggested = only(write(tmp_path, raw)).write
    assert suggested == (
        "access: {administrator_key: <your SSH public key>, vault_officers: {<object id of who runs up>: service}}"
    )
    refused = {**raw, **yaml.safe_load(suggested)}
    assert {problem.key for problem in problems_of(write(tmp_path, refused))} >= {"access.administrator_key"}


def test_a_long_value_is_not_shown_whole(tmp_path: Path) -> None:
    problem = only(write(tmp_path, {**make.minimal(), "domain": "X" * 1_000_000}))
    assert len(str(problem)) < 1000
