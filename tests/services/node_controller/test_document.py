"""The controller's document: it reads what Longhaul writes, and reports what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.model import plan
from components.model.nodes.host_nodes import host_nodes
from components.model.nodes.labels import host_labels, pool_labels
from components.render.node_controller_document import environment_document
from contract.documents.node_controller import NodeEnvironmentError, of_text
from contract.documents.pools import taints_document
from contract.labels import ZONE_LABEL
from services.node_controller.sources import inventories
from tests.support.production import production

ROLE = "arn:aws:iam::123456789012:role/prod-node-controller"


def document() -> dict[str, Any]:
    environment = production()
    found: dict[str, Any] = json.loads(environment_document(environment, plan(environment), aws_role_arn=ROLE))
    return found


def test_it_reads_what_longhaul_writes() -> None:
    environment = production()
    found = of_text(json.dumps(document()))
    assert found.name == "prod"
    assert found.aws_role == ROLE
    assert {name: site.kind for name, site in found.sites.items()} == {
        name: site.kind for name, site in environment.sites.items()
    }
    assert {name: (pool.site, pool.groups) for name, pool in found.pools.items()} == {
        name: (pool.site, (f"prod-{name}",)) for name, pool in environment.pools.items()
    }
    places = {
        host.node_name: (host.place.site, str(host.place.address))
        for host in host_nodes(environment, plan(environment)).values()
    }
    assert {name: (host.site, host.address) for name, host in found.hosts.items()} == places
    assert found.sites["weu"].resource_group == "prod-weu"


def test_it_reads_which_labels_and_taints_nodes_have() -> None:
    environment = production()
    found = of_text(json.dumps(document()))
    for name, pool in found.pools.items():
        assert pool.labels == pool_labels(environment, name)
        assert taints_document(pool.taints) == [taint.model_dump() for taint in environment.pools[name].taints]
    for host in environment.hosts:
        node = host_nodes(environment, plan(environment))[host.name]
        wanted = {
            **host_labels(node.place, gpus=host.gpus, gpu_model=host.gpu_model, rdma=host.rdma),
            ZONE_LABEL: node.place.site,
        }
        assert found.hosts[node.node_name].labels == wanted


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("labels", ["a"]),
        ("labels", {"a": 1}),
        ("taints", {"key": "a"}),
        ("taints", [{"key": "a", "effect": "NoSchedule"}]),
        ("taints", [{"key": "a", "value": 1, "effect": "NoSchedule"}]),
    ],
)
def test_labels_and_taints_that_are_none_are_said(part: str, value: object) -> None:
    raw = document()
    raw["pools"]["h100-azure"][part] = value
    with pytest.raises(NodeEnvironmentError, match=rf"pools\.h100-azure\.{part}: is .* write "):
        of_text(json.dumps(raw))


@pytest.mark.parametrize("value", [["a"], {"0": ["a"]}])
def test_sets_of_labels_of_hosts_that_are_none_are_said(value: object) -> None:
    raw = {**document(), "rack_labels": value}
    with pytest.raises(NodeEnvironmentError, match=r"rack_labels.* is .* write "):
        of_text(json.dumps(raw))


def test_it_reads_every_set_of_a_pool_that_takes_several() -> None:
    environment = production()
    large = environment.pools["h100-azure"].model_copy(update={"max": 250})
    environment = environment.model_copy(update={"pools": {**environment.pools, "h100-azure": large}})
    found = of_text(environment_document(environment, plan(environment), aws_role_arn=ROLE)).pools
    assert found["h100-azure"].groups == ("prod-h100-azure", "prod-h100-azure-s1", "prod-h100-azure-s2")
    assert all(len(pool.groups) == 1 for name, pool in found.items() if name != "h100-azure")


@pytest.mark.parametrize("value", ["one", [1], [""], ["a b"], []])
def test_groups_that_are_no_names_are_said(value: object) -> None:
    raw = document()
    raw["pools"]["h100-azure"]["groups"] = value
    with pytest.raises(NodeEnvironmentError, match=r"pools\.h100-azure\.groups: is .* write the names"):
        of_text(json.dumps(raw))


def test_every_site_with_pools_or_racks_has_a_list() -> None:
    environment = production()
    found = inventories(of_text(json.dumps(document())), changed=lambda: None)
    wanted = {pool.site for pool in environment.pools.values()} | {host.site for host in environment.hosts}
    assert set(found) == wanted
    found["colo"].list()
    assert found["colo"].count() == len(environment.hosts)


def without(*path: str) -> str:
    raw = document()
    place = raw
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return json.dumps(raw)


def changed(value: Any, *path: str) -> str:
    raw = document()
    place = raw
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(raw)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("[]", "it is not a mapping"),
        (changed(2, "format"), "format: is 2, this controller reads 1"),
        (without("environment"), "environment: is missing"),
        (without("sites"), "sites: is not a mapping of mappings"),
        (changed(["a"], "racks"), "racks: is not a mapping of mappings"),
        (changed({"a": "b"}, "pools"), "pools: is not a mapping of mappings"),
        (changed(7, "sites", "use1", "kind"), "sites.use1.kind: is 7; write one of aws, azure, onprem"),
        (without("sites", "use1", "region"), "sites.use1.region: is missing"),
        (changed("", "sites", "weu", "resource_group"), "sites.weu.resource_group: is missing"),
        (changed("a b", "sites", "weu", "subscription"), "sites.weu.subscription: is missing"),
        (changed("nowhere", "pools", "cpu", "site"), "pools.cpu.site: 'nowhere' is not a cloud site"),
        (changed("colo", "pools", "cpu", "site"), "pools.cpu.site: 'colo' is not a cloud site"),
        (without("pools", "cpu", "groups"), "pools.cpu.groups: is None"),
        (
            changed({"site": "use1", "groups": ["a"]}, "pools", "bare-metal"),
            "pools.bare-metal: is the name of the racks",
        ),
        (changed("use1", "racks", "prod-gpu-00", "site"), "racks.prod-gpu-00.site: 'use1' is not an on-prem site"),
        (changed("10.0.0", "racks", "prod-gpu-00", "address"), "racks.prod-gpu-00.address: '10.0.0' is not an IPv4"),
        (changed({"site": "colo", "address": "10.0.0.1"}, "racks", "A_b"), "racks.A_b: is not a Node's name"),
        (changed(None, "aws_role"), "aws_role: is missing"),
    ],
)
def test_what_is_wrong_is_said(text: str, says: str) -> None:
    with pytest.raises(NodeEnvironmentError, match=r"environment\.json") as caught:
        of_text(text)
    assert says in str(caught.value)


def test_a_site_of_an_unknown_kind_keeps_no_other_out() -> None:
    """A later release may add a cloud that the image of the control plane does not know."""
    whole, found = of_text(json.dumps(document())), of_text(changed("gcp", "sites", "use1", "kind"))
    assert found.unread == {"use1": "gcp"}
    assert found.sites == {name: site for name, site in whole.sites.items() if name != "use1"}
    assert found.pools == {name: pool for name, pool in whole.pools.items() if pool.site != "use1"}
    assert found.hosts == whole.hosts
    assert whole.unread == {}


def test_every_fault_is_said_at_once() -> None:
    raw = document()
    raw["sites"]["use1"]["region"] = ""
    raw["pools"]["cpu"]["site"] = "nowhere"
    with pytest.raises(NodeEnvironmentError) as caught:
        of_text(json.dumps(raw))
    assert len(str(caught.value).splitlines()) == 2


def test_what_a_newer_longhaul_adds_is_left_alone() -> None:
    raw = {**document(), "more": 1}
    raw["sites"]["use1"]["more"] = 1
    assert of_text(json.dumps(raw)).sites["use1"].region == "us-east-1"
