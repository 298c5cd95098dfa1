"""docs/limits.md: what it calls refused is refused, and its numbers are the model's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clouds.registry import clouds
from components.model.loading.unsupported import UNSUPPORTED
from components.model.teams.section import MOST_TEAMS
from tests.model import make
from tests.model.files import only, write
from tests.model.loading.test_impossible import RADEON, changed

ON_AWS = changed("control_plane.site", "use1")
ACCOUNTS = changed("sites.use1.account", "123456789012")
ACCOUNTS["sites"]["usw2"] = make.AWS | {"region": "us-west-2", "account": "123456789013"}
GATEWAYS = changed("sites.room", make.ONPREM)
GATEWAYS["sites"]["hall"] = {"kind": "onprem", "gateways": [make.ONPREM["gateways"][0] | {"name": "gw-1"}]}
HOSTS = {"`serial`": {"serial": "X1"}, "`labels` of a host": {"labels": {}}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "g4ad.xlarge": (changed("pools.gpu.machine_type", "g4ad.xlarge"), "NVIDIA"),
    "trn2.48xlarge": (changed("pools.gpu.machine_type", "trn2.48xlarge"), "NVIDIA"),
    "gpu_model: MI300X": (changed("machine_types.X", RADEON), "NVIDIA"),
    "kind: gcp": (changed("sites.use1.kind", "gcp"), "'gcp' is not a kind of site"),
    "control_plane.site": (ON_AWS, "a control plane cannot be elsewhere yet"),
    "storage": (changed("storage", {}), "is not supported yet"),
    "boxes": (changed("boxes", {}), "is not supported yet"),
    "nvidia.com/mig-1g.10gb": (changed("extended_resources", ["nvidia.com/mig-1g.10gb"]), "pods get whole ones"),
    "another `account`": (ACCOUNTS, "an environment has only one account"),
    "fd00::/16": (changed("supernet", "fd00::/16"), "is not an IPv4 range"),
    "`public_address` that is there twice": (GATEWAYS, "is the address of gw-0 in room too"),
    "`serial`": (changed("bare_metal", "hosts.test.yaml"), "is not a key that Longhaul knows"),
    "`labels` of a host": (changed("bare_metal", "hosts.test.yaml"), "is not a key that Longhaul knows"),
    "7,500 machines": (changed("pools.gpu.max", 7501), "7501 is more than 7500"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_the_page_calls_refused_is_refused(tmp_path: Path, root: Path, words: str) -> None:
    (line,) = [line for line in page(root) if words in line]
    assert "*file*" in line
    raw, wrong = REFUSED[words]
    raw = raw | {"sites": raw["sites"] | ({"colo": make.ONPREM} if words in HOSTS else {})}
    hosts = make.rack(make.host("a", **HOSTS[words])) if words in HOSTS else None
    assert wrong in only(write(tmp_path, raw, hosts=hosts)).wrong


def test_every_line_that_speaks_of_the_file_is_tried(root: Path) -> None:
    lines = [line for line in page(root) if line.startswith("|") and "*file*" in line]
    assert [line for line in lines if not any(words in line for words in REFUSED)] == []


def test_the_page_names_what_there_is_and_what_is_reserved(root: Path) -> None:
    text = "\n".join(page(root))
    assert {key[0] for key in UNSUPPORTED if len(key) == 1} == {"boxes", "storage"}
    rented = [cloud.title for cloud in clouds().values() if cloud.rents]
    assert f"other clouds than {' and '.join(sorted(rented, reverse=True))}" in text
    assert [cloud.title for cloud in clouds().values() if cloud.holds_control_plane] == ["Azure"]
    assert f"more than {MOST_TEAMS} teams" in text


def test_the_readme_leads_to_it(root: Path) -> None:
    assert "docs/limits.md" in (root / "README.md").read_text()


def page(root: Path) -> list[str]:
    return (root / "docs" / "limits.md").read_text().splitlines()
