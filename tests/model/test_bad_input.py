"""Every error that can exist between an environment's sections: its key, what is wrong, what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import ConfigurationError
from tests.model import make
from tests.model.files import only, problems_of, write


@pytest.mark.parametrize(
    ("hosts", "key", "wrong"),
    [
        (make.rack(make.host("a"), make.host("b"), make.host("a")), "hosts.2.name", "already the name of hosts.0"),
        (make.rack(make.host("a", site="weu")), "hosts.0.site", "'weu' is not an on-prem site"),
        (make.rack(make.host("a", site="cold")), "hosts.0.site", "'cold' is not an on-prem site"),
        (make.rack(make.host("a", address="10.68.0.9")), "hosts.0.address", "not a host's address in 10.68.128.0/17"),
        (make.rack(make.host("a", address="10.68.128.0")), "hosts.0.address", "not a host's address"),
        (make.rack(make.host("a", address="10.68.255.255")), "hosts.0.address", "not a host's address"),
        (
            make.rack(make.host("a", address="10.68.128.11"), make.host("b")),
            "hosts.0.address",
            "10.68.128.11 is also the address of hosts.1, by its place in the list",
        ),
        (
            make.rack(make.host("a"), make.host("b", address="10.68.128.10")),
            "hosts.1.address",
            "10.68.128.10 is also the address of hosts.0, by its place in the list",
        ),
        (
            make.rack(make.host("a", address="10.68.128.99"), make.host("b", address="10.68.128.99")),
            "hosts.1.address",
            "10.68.128.99 is also the address of hosts.0",
        ),
        (make.rack(make.host("gw-0")), "hosts.0.name", "'test-gw-0', as its machine is called, is a name"),
        (make.rack(make.host("etcd-3")), "hosts.0.name", "'test-etcd-3', as its machine is called, is a name"),
        (make.rack(make.host("h" * 59)), "hosts.0.name", "has 64 characters"),
        (make.rack(make.host("a", gpu_model="H100")), "hosts.0.gpu_model", "is about GPUs, and there are none"),
        (make.rack(make.host("a", gpu_nvlinks=0)), "hosts.0.gpu_nvlinks", "is about GPUs, and there are none"),
        (make.rack(make.host("a", gpu_check=["burn"])), "hosts.0.gpu_check", "is about GPUs, and there are none"),
        (make.rack(make.host("a", gpu_driver="provided")), "hosts.0.gpu_driver", "is about GPUs, and there are none"),
        (make.rack(make.host("a", gpus=1, gpu_nvlinks=19)), "hosts.0.gpu_nvlinks", "19"),
        (make.rack(make.host("a", gpus=1, gpu_model="H100\n")), "hosts.0.gpu_model", "H100"),
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
    problem = only(write(tmp_path, raw, hosts=make.rack(*(make.host(f"h{index}") for index in range(129)))))
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
        (
            changed("pools", "gpu", "labels", to={"longhaul.dev/pool": "other"}),
            "pools.gpu.labels.longhaul.dev/pool",
            "is set by Longhaul",
            "a key of your own domain",
        ),
        (
            changed("pools", "gpu", "labels", to={"longhaul.dev/image": "1.0.0"}),
            "pools.gpu.labels.longhaul.dev/image",
            "is set by Longhaul",
            "a key of your own domain",
        ),
        (
            changed("pools", "gpu", "labels", to={"node-role.kubernetes.io/gpu": ""}),
            "pools.gpu.labels.node-role.kubernetes.io/gpu",
            "a node may not give itself",
            "a key of your own domain",
        ),
        (
            changed("pools", "gpu", "huge_pages_gib", to=1800),
            "pools.gpu.huge_pages_gib",
            "1800 GiB leave too little of the 2048 GiB of a p5.48xlarge",
            "at most 1740",
        ),
        (
            changed("pools", "gpu", "taints", to=[{"key": "longhaul.dev/preflight", "effect": "NoSchedule"}]),
            "pools.gpu.taints.0.key",
            "is set and lifted by Longhaul",
            "a key of your own domain",
        ),
        (
            changed(
                "pools", "big", to={"site": "weu", "machine_type": "Standard_D8s_v5", "max": 1, "gpu_check": ["a"]}
            ),
            "pools.big.gpu_check",
            "a Standard_D8s_v5 has no GPUs to check",
            "leave it out",
        ),
        (
            changed("machine_types", "Huge", to={"cloud": "azure", "vcpus": 8, "memory_gib": 64, "gpu_model": "H100"}),
            "machine_types.Huge.gpu_model",
            "is about GPUs, and there are none",
            "leave it out",
        ),
        (changed("pools", "gpu", "min", to=5), "pools.gpu.min", "5 is more than max, 4", "at most 4"),
        (changed("pools", "gpu", "fallbacks", to=["gpu"]), "pools.gpu.fallbacks.0", "'gpu' is not another pool", "big"),
        (changed("control_plane", "site", to="wuu"), "control_plane.site", "'wuu' is not a site", "weu"),
        (changed("control_plane", "site", to="use1"), "control_plane.site", "'use1' is not on Azure", "weu"),
        (
            changed("control_plane", "api", "port", to=6444),
            "control_plane.api.port",
            "6444 is the port of the service that machines join at",
            "6443",
        ),
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
        *(
            (
                changed("pools", name, to={"site": "weu", "machine_type": "Huge", "max": 1}),
                f"pools.{name}",
                "is the name of the pool of all hosts",
                "none of etcd, events, api, bare-metal, hosts",
            )
            for name in ("hosts", "bare-metal")
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
    """A site of unknown kind and an invalid supernet cause no further problems: neither for the site's pools, nor for
    ranges."""
    raw = make.full()
    raw["sites"]["use1"] = {"kind": "gcp"}
    raw["supernet"] = "everything"
    assert [problem.key for problem in problems_of(write(tmp_path, raw, hosts=make.hosts()))] == [
        "supernet",
        "sites.use1.kind",
    ]
