"""Several environments together: no two share an address."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from components.model import ConfigurationError, load, load_directory
from components.model.loading.load import check_neighbours, not_compared, stack_name, taken_ranges
from components.model.loading.schema import CONFIG_KEY
from tests.model import make
from tests.model.files import write


def other(**changes: Any) -> dict[str, Any]:
    domain = f"{changes.get('name', 'test')}.longhaul.internal"
    return {**copy.deepcopy(make.minimal()), "domain": domain, **changes}


def test_environments_that_overlap_are_both_named(tmp_path: Path) -> None:
    first = write(tmp_path, other(name="first", supernet="10.0.0.0/8"), name="first")
    second = write(tmp_path, other(name="second", supernet="10.64.0.0/12"), name="second")
    with pytest.raises(ConfigurationError) as caught:
        load_directory(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.key, problem.line) == (str(second), "supernet", 5)
    assert problem.wrong == f"10.64.0.0/12 of second overlaps 10.0.0.0/8 of first, {first}:5"
    assert problem.write == "in one of the two, a range that no other environment has, such as 172.16.0.0/12"
    for path, neighbour in ((first, second), (second, first)):
        with pytest.raises(ConfigurationError, match=f"{neighbour}:5") as found:
            check_neighbours(load(path), source=path)
        assert [(one.file, one.line) for one in found.value.problems] == [(str(path), 5)]


def test_a_neighbour_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    own = write(tmp_path, other(name="own"), name="own")
    write(tmp_path, other(name="other", supernet="10.0.0.0/12", sites={}), name="other")
    write(tmp_path, other(name="vague", supernet="ten"), name="vague")
    (tmp_path / "Pulumi.broken.yaml").write_text("a: [")
    (tmp_path / "Pulumi.own-objects.yaml").write_text("a: [")
    told = not_compared(own)
    assert [Path(one.file).name for one in told] == ["Pulumi.broken.yaml", "Pulumi.vague.yaml"]
    assert all(one.wrong.startswith("Pulumi.own.yaml was not compared with this file") for one in told)


def test_a_gateway_is_of_one_environment(tmp_path: Path) -> None:
    """Also where another file is wrong elsewhere."""
    sites = {"weu": make.AZURE, "rack": make.ONPREM}
    first = write(tmp_path, other(name="first", supernet="10.0.0.0/12", sites=sites, domain="x"), name="first")
    second = write(tmp_path, other(name="second", supernet="10.16.0.0/12", sites=sites), name="second")
    line = next(n for n, text in enumerate(first.read_text().splitlines(), 1) if "203.0.113.10" in text)
    for look in (lambda: load_directory(tmp_path), lambda: check_neighbours(load(second), source=second)):
        with pytest.raises(ConfigurationError) as caught:
            look()
        problem = caught.value.problems[-1]
        assert (problem.file, problem.key) == (str(second), "sites.rack.gateways.0.public_address")
        assert problem.line
        assert problem.wrong == f"203.0.113.10 is the address of a gateway of first too, {first}:{line}"


def test_where_no_range_is_free_none_is_offered(tmp_path: Path) -> None:
    path = write(tmp_path, other(name="first", supernet="10.0.0.0/8"), name="first")
    write(tmp_path, other(name="second", supernet="10.0.0.0/8"), name="second")
    with pytest.raises(ConfigurationError) as caught:
        check_neighbours(load(path), source=path)
    (problem,) = caught.value.problems
    assert problem.write == "in one of the two, a range that no other environment has"


def test_each_file_is_offered_a_range_of_its_own(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        write(tmp_path, other(name=name, supernet="10.64.0.0/12"), name=name)
    with pytest.raises(ConfigurationError) as caught:
        load_directory(tmp_path)
    offers = {stack_name(Path(problem.file)): problem.write for problem in caught.value.problems}
    assert len(caught.value.problems) == 3
    assert "such as 10.0.0.0/12" in offers["second"]
    assert "such as 10.16.0.0/12" in offers["third"]
    write(tmp_path, other(name="second", supernet="10.0.0.0/12"), name="second")
    write(tmp_path, other(name="third", supernet="10.16.0.0/12"), name="third")
    assert list(load_directory(tmp_path)) == ["first", "second", "third"]
    assert set(map(str, taken_ranges(tmp_path, but=tmp_path / "Pulumi.third.yaml"))) == {"10.64.0.0/12", "10.0.0.0/12"}


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
