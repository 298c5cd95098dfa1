"""The picture of an environment shows all of its parts."""

from __future__ import annotations

import re

from components.model import Environment
from components.reference.mermaid import topology
from tests.model import make

EXPECTED = """\
flowchart TB
  subgraph n__weu["weu: Azure westeurope, 10.64.0.0/16"]
    control_name(["api.test.longhaul.internal:443"])
    control_api["API servers: 2 × Standard_D8s_v5"]
    control_etcd[("etcd: 3 × Standard_L8s_v3")]
    control_events[("etcd for events: 1 × Standard_L8s_v3")]
    control_name --> control_api
    control_api --> control_etcd
    control_api --> control_events
    n__weu__big["pool big: 0 to 1 × Huge"]
  end
  subgraph n__use1["use1: AWS us-east-1, 10.65.0.0/16"]
    n__use1__gpu["pool gpu: 1 to 4 × p5.48xlarge, spot"]
  end
  subgraph n__colo["colo: on-prem, 10.68.0.0/14"]
    n__colo__hosts["0 hosts"]
    n__colo__gateway__gw_0{{"gateway test-gw-0"}}
    n__colo__gateway__gw_1{{"gateway test-gw-1"}}
  end
  n__weu <-. IPsec .-> n__use1
  n__weu <-- existing circuit --> n__colo
  n__use1 <-. IPsec .-> n__colo
"""


def test_everything_is_in_the_picture() -> None:
    assert (
        topology(make.environment({key: value for key, value in make.full().items() if key != "bare_metal"}))
        == EXPECTED
    )


def test_nodes_are_told_apart_and_lines_lead_to_them() -> None:
    raw = make.full()
    raw["sites"] = dict.fromkeys(("weu", "a-b", "a", "use1", "b", "colo"), make.AZURE)
    pool = {"machine_type": "Standard_D8s_v5", "max": 1}
    raw["pools"] = {"b-c": {"site": "a", **pool}, "c": {"site": "a-b", **pool}, "end": {"site": "a", **pool}}
    picture = topology(Environment.model_validate(raw))
    defined = re.findall(r"^ +(?:subgraph )?(\w+)[\[({]", picture, re.MULTILINE)
    assert len(set(defined)) == len(defined)
    assert "end" not in defined
    for ends in re.findall(r"^ +(\w+) <?[-=.].*[-=.]>? (\w+)$", picture, re.MULTILINE):
        assert set(ends) <= set(defined)
