"""Links between sites."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.model import Environment
from components.model.network.links import LinkKind, links, tunnels
from tests.model import make

KINDS: dict[str, dict[str, Any]] = {"azure": make.AZURE, "aws": make.AWS, "onprem": make.ONPREM}


@given(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6), st.data())
def test_every_pair_of_sites_has_one_link_of_the_right_kind(kinds: list[str], data: st.DataObject) -> None:
    sites = {f"s{index}": KINDS[kind] for index, kind in enumerate(kinds)}
    pairs = list(combinations(sites, 2))
    existing = data.draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    circuits = [{"between": [second, first], "kind": "existing"} for first, second in existing]
    environment = Environment.model_validate({**make.minimal(), "sites": sites, "links": circuits})
    found = {(link.first, link.second): link.kind for link in links(environment)}
    assert list(found) == pairs
    for (first, second), kind in found.items():
        one, other = sites[first]["kind"], sites[second]["kind"]
        if (first, second) in existing:
            assert kind is LinkKind.EXISTING
        elif one == other != "onprem":
            assert kind is LinkKind.BACKBONE
        else:
            assert kind is LinkKind.IPSEC


def test_a_link_that_is_no_tunnel_has_none() -> None:
    sites = {"a": make.AWS, "b": make.AWS, "c": make.AZURE}
    circuit = {"between": ["a", "c"], "kind": "existing"}
    environment = Environment.model_validate({**make.minimal(), "sites": sites, "links": [circuit]})
    peering, existing, ipsec = links(environment)
    assert tunnels(environment, ipsec) == 1
    for link in (peering, existing):
        with pytest.raises(ValueError, match=f"{link.name} is no tunnel"):
            tunnels(environment, link)


def test_a_gateway_of_azure_has_one_connection_to_a_site() -> None:
    gateways = [{"name": f"gw{number}", "public_address": f"203.0.113.{number}"} for number in (1, 2)]
    sites = {"a": make.AZURE, "b": make.AWS, "c": {**make.ONPREM, "gateways": gateways}}
    environment = Environment.model_validate({**make.minimal(), "sites": sites})
    assert [tunnels(environment, link) for link in links(environment)] == [1, 1, 4]
