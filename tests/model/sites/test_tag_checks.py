"""Tags that a cloud would refuse are refused when the file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.base.tag_rules import MOST, MOST_OF_A_ZONE, OWN, ZONES_OWN
from tests.model import make
from tests.model.files import only, problems_of, write
from tests.support.whole import declare_whole, with_few_machines

AZURE, AWS = ("weu",), ("weu", "use1")


def tagged(tags: dict[str, str], *, sites: tuple[str, ...] = AWS, zone: bool = True) -> dict[str, Any]:
    """Return a control plane on Azure, with a site on AWS beside it or not, and the tags; the DNS zone is made or
    named."""
    raw = make.full()
    raw["sites"] = {name: raw["sites"][name] for name in sites}
    for key in ("bare_metal", "waivers", "links", "pools", "teams"):
        del raw[key]
    if zone:
        for site in raw["sites"].values():
            del site["existing"]
    return {**raw, "tags": tags}


@pytest.mark.parametrize(
    ("tags", "key", "wrong", "instead"),
    [
        ({"team/cost": "a"}, "team/cost", "'team/cost' is not a name that Azure accepts", r"without any of <>%&\?/"),
        ({"Microsoft-team": "a"}, "Microsoft-team", "begins as Azure's own tags do", "microsoft, azure, windows"),
        ({"windowsteam": "a"}, "windowsteam", "begins as Azure's own tags do", "microsoft, azure, windows"),
        ({"a" * 513: "a"}, "a" * 513, "has 513 characters", "at most 512"),
        ({"a" * 129: "a"}, "a" * 129, "has 129 characters", "at most 128"),
        ({"team": "v" * 257}, "team", "a value of 257 characters", "at most 256"),
        ({"AWS:team": "a"}, "AWS:team", "begins as AWS's own tags do", "does not begin with aws:"),
        ({"team": "a;b"}, "team", "a value that AWS does not accept", "letters, digits, spaces and _.:/=+-@"),
        ({"team": "tab\there"}, "team", "a value that AWS does not accept", "letters"),
        ({"te#am": "a"}, "te#am", "a name that AWS does not accept", "letters"),
        ({"longhaul-site": "a"}, "longhaul-site", "is a tag of Longhaul's own", "another name"),
        ({"Longhaul-Team": "a"}, "Longhaul-Team", "is a tag of Longhaul's own", "another name"),
        ({"Name": "a"}, "Name", "is a tag of Longhaul's own", "another name"),
        ({"name": "a"}, "name", "is a tag of Longhaul's own", "another name"),
        ({"": "a"}, "", "is no name", "a name"),
        ({"Team": "a", "team": "b"}, "team", "is 'Team' in another case", "one of them"),
    ],
)
def test_what_a_cloud_refuses(tmp_path: Path, tags: dict[str, str], key: str, wrong: str, instead: str) -> None:
    problem = only(write(tmp_path, tagged(tags, zone=False)))
    assert (problem.key, problem.line is not None) == (f"tags.{key}", True)
    assert wrong in problem.wrong
    assert instead in problem.write


@pytest.mark.parametrize("key", ["cost centre", "4711", "cost:centre", "münchen"])
def test_what_azure_s_dns_zones_do_not_take_matters_where_one_is_made(tmp_path: Path, key: str) -> None:
    problem = only(write(tmp_path, tagged({key: "a"}, sites=AZURE)))
    assert problem.key == f"tags.{key}"
    assert "Azure's DNS zones" in problem.wrong
    assert make.environment(tagged({key: "a"}, zone=False)).tags == {key: "a"}


def test_what_is_taken() -> None:
    tags = {"cost-centre": "4711", "Team": "Grüße an alle", "owner": "a@b.example", "empty": ""}
    assert make.environment(tagged(tags)).tags == tags


def test_without_aws_its_rules_do_not_hold() -> None:
    tags = {"a" * 512: "a;b"}
    assert make.environment(tagged(tags, sites=AZURE)).tags == tags


@pytest.mark.parametrize(("zone", "most"), [(True, MOST_OF_A_ZONE - ZONES_OWN), (False, MOST - OWN)])
def test_there_is_room_for_longhaul_s_own(tmp_path: Path, zone: bool, most: int) -> None:
    tags = {f"t{index}": "a" for index in range(most)}
    assert make.environment(tagged(tags, zone=zone)).tags == tags
    problem = only(write(tmp_path, tagged({**tags, "more": "a"}, zone=zone)))
    assert (problem.key, problem.write) == ("tags", f"at most {most} entries")


def test_where_a_site_is_broken_nothing_is_concluded_from_it(tmp_path: Path) -> None:
    raw = tagged({"team": "a;b"})
    raw["sites"]["use1"]["kind"] = "gcp"
    assert {problem.key for problem in problems_of(write(tmp_path, raw))} == {"sites.use1.kind"}


def test_own_tags_are_as_many_as_are_declared() -> None:
    """Counted on every resource, and on the DNS zone."""
    raw = make.full()
    for key in ("bare_metal", "waivers", "tags"):
        del raw[key]
    for site in raw["sites"].values():
        site.pop("existing", None)
    program = declare_whole(with_few_machines(make.environment(raw)))
    tags = {one.type: one.inputs["tags"] for one in program.resources if isinstance(one.inputs.get("tags"), dict)}
    lists = [one.inputs["tags"] for one in program.resources if isinstance(one.inputs.get("tags"), list)]
    assert max([*map(len, tags.values()), *map(len, lists)]) == OWN
    assert len(tags["azure-native:privatedns:PrivateZone"]) == ZONES_OWN
