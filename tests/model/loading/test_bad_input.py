"""Every error that can exist between an environment's sections: its key, what is wrong, what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from components.model import ConfigurationError, load, plan
from contract.taints import CORDON, INTERRUPTED_TAINT
from tests.model import make
from tests.model.files import only, problems_of, write
from tests.model.make import host
from tests.support.ssh_keys import ssh_key

SAME, LISTED = "is also the address of", "by its place in the list"


@pytest.mark.parametrize(
    ("hosts", "key", "wrong"),
    [
        ([host("a"), host("b"), host("a")], "hosts.2.name", "already the name of hosts.0"),
        ([host("a", site="weu")], "hosts.0.site", "'weu' is not an on-prem site"),
        ([host("a", site="cold")], "hosts.0.site", "'cold' is not an on-prem site"),
        ([host("a", address="10.68.0.9")], "hosts.0.address", "not a host's address in 10.68.128.0/17"),
        ([host("a", address="10.68.128.0")], "hosts.0.address", "not a host's address"),
        ([host("a", address="10.68.255.255")], "hosts.0.address", "not a host's address"),
        ([host("a", address="10.68.128.11"), host("b")], "hosts.0.address", f"10.68.128.11 {SAME} hosts.1, {LISTED}"),
        ([host("a"), host("b", address="10.68.128.10")], "hosts.1.address", f"10.68.128.10 {SAME} hosts.0, {LISTED}"),
        ([host(name, address="10.68.128.99") for name in "ab"], "hosts.1.address", f"10.68.128.99 {SAME} hosts.0"),
        ([host("gw-0")], "hosts.0.name", "is the name of the gateway gw-0 too"),
        ([host("etcd-3")], "hosts.0.name", "begins like the name of a control-plane machine"),
        ([host("h" * 59)], "hosts.0.name", "has 64 characters"),
        ([host("a", gpu_model="H100")], "hosts.0.gpu_model", "is about GPUs, and there are none"),
        ([host("a", gpu_nvlinks=0)], "hosts.0.gpu_nvlinks", "is about GPUs, and there are none"),
        ([host("a", gpu_check=["burn"])], "hosts.0.gpu_check", "is about GPUs, and there are none"),
        ([host("a", gpu_driver="provided")], "hosts.0.gpu_driver", "is about GPUs, and there are none"),
        ([host("a", gpus=1, gpu_nvlinks=19)], "hosts.0.gpu_nvlinks", "19"),
        ([host("a", gpus=1, gpu_model="H100\n")], "hosts.0.gpu_model", "H100"),
    ],
)
def test_bad_hosts(tmp_path: Path, hosts: list[dict[str, Any]], key: str, wrong: str) -> None:
    path = write(tmp_path, make.full(), hosts=make.rack(*hosts))
    problem = only(path)
    assert (problem.file, problem.key) == (str(tmp_path / "hosts.test.yaml"), key)
    assert problem.line is not None
    assert wrong in problem.wrong


def test_a_domain_leaves_room_for_the_machines_names(tmp_path: Path) -> None:
    raw = make.minimal()
    assert load(write(tmp_path, {**raw, "domain": f"{'a.' * 118}iso"})).domain
    problem = only(write(tmp_path, {**raw, "domain": f"{'a.' * 121}io"}))
    assert (problem.key, problem.write) == ("domain", "a domain that is 5 shorter")
    assert problem.wrong == "test-events-0.… in it would have 258 characters, and DNS allows 253"


def test_the_learner_needs_an_address_beside_those_of_seven_members(tmp_path: Path) -> None:
    raw = make.minimal()
    raw["control_plane"]["etcd"]["learner"] = {"zone": "1", "machine_type": "Standard_D8s_v5"}
    raw["sites"]["weu"]["range"] = "10.64.0.0/20"
    problem = only(write(tmp_path, raw))
    assert problem.key == "control_plane.etcd.learner"
    assert "no address in 10.64.0.16/28, the etcd subnet of weu, beside 7 members" in problem.wrong
    raw["sites"]["weu"]["range"] = "10.64.0.0/19"
    assert load(write(tmp_path, raw)).control_plane.etcd.learner is not None


def test_more_hosts_than_the_site_has_room_for(tmp_path: Path) -> None:
    raw = make.full()
    raw["sites"]["colo"] |= {"range": "10.68.0.0/20", "prefix": 20}
    problem = only(write(tmp_path, raw, hosts=make.rack(*(make.host(f"h{index}") for index in range(129)))))
    assert problem.key == "sites.colo.prefix"
    assert "room for 128 hosts, the hosts file lists 129" in problem.wrong


def changed(at: str, to: object) -> dict[str, Any]:
    """Return the full environment with another value at a key, with dots between its parts."""
    raw = make.full()
    place: Any = raw
    *above, last = at.split(".")
    for part in above:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[int(last) if isinstance(place, list) else last] = to
    return raw


OURS = "a key of your own domain"
PAIRS = [{"between": pair, "kind": "existing"} for pair in (["weu", "colo"], ["colo", "weu"])]
PREFLIGHT = {"key": "longhaul.dev/preflight", "effect": "NoSchedule"}
TAINT = {"key": "dedicated", "effect": "NoSchedule"}
UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}
POOL = {"site": "weu", "machine_type": "Huge", "max": 1}
LATEST = make.IMAGE.replace("1.0.0", "latest")
CHECKED = {**POOL, "machine_type": "Standard_D8s_v5", "gpu_check": ["a"]}
HUGE = {"cloud": "azure", "vcpus": 8, "memory_gib": 64, "gpu_model": "H100"}
UNKNOWN = "'p5.48xlarg' is not a machine type that Longhaul knows"
ITSELF = "a node may not give itself"
NO_SSD = "'Standard_D8s_v5' has no local SSD, which etcd needs"


@pytest.mark.parametrize(
    ("at", "to", "wrong", "instead"),
    [
        ("pools.gpu.site", "use2", "'use2' is not a site", "use1 (or one of: use1, weu)"),
        ("pools.gpu.site", "colo", "'colo' is on-prem", "one of: use1, weu"),
        ("pools.gpu.machine_type", "p5.48xlarg", UNKNOWN, "p5.48xlarge (or one of"),
        ("pools.gpu.machine_type", "Huge", "'Huge' is a type of azure, and use1 is on aws", "one of: g5.12xlarge"),
        ("pools.gpu.labels/longhaul.dev/pool", {"longhaul.dev/pool": "other"}, "is set by Longhaul", OURS),
        ("pools.gpu.labels/longhaul.dev/image", {"longhaul.dev/image": "1.0.0"}, "is set by Longhaul", OURS),
        ("pools.gpu.labels/node-role.kubernetes.io/gpu", {"node-role.kubernetes.io/gpu": ""}, ITSELF, OURS),
        (
            "pools.gpu.huge_pages_gib",
            1731,
            "1731 GiB leave too little of the 2048 GiB of a p5.48xlarge, beside 10.0 GiB for its network adapters",
            "at most 1730",
        ),
        ("pools.gpu.taints/0.key", [PREFLIGHT], "is set and lifted by Longhaul", OURS),
        ("pools.gpu.taints/1", [TAINT, TAINT | {"value": "b"}], "is there before", "key and effect once"),
        ("pools.gpu.startup_taints/1", [TAINT, TAINT], "is there before", "key and effect once"),
        ("pools.gpu.startup_taints/0.key", [PREFLIGHT], "is set and lifted by Longhaul", OURS),
        ("pools.gpu.taints/0.key", [INTERRUPTED_TAINT], "is set and lifted by Longhaul", OURS),
        ("pools.gpu.startup_taints/0.key", [TAINT | {"key": CORDON}], "is a taint of Kubernetes' own", OURS),
        ("pools.gpu.taints/0.key", [UNINITIALIZED], "is a taint of Kubernetes' own", OURS),
        ("pools.burn/gpu_check", CHECKED, "a Standard_D8s_v5 has no GPUs to check", "leave it out"),
        ("machine_types.Tiny/gpu_model", HUGE, "is about GPUs, and there are none", "leave it out"),
        ("pools.gpu.min", 5, "5 is more than max, 4", "at most 4"),
        ("pools.gpu.fallbacks/0", ["gpu"], "'gpu' is not another pool", "big"),
        ("pools.gpu.fallbacks/1", ["big", "big"], "'big' is named before", "each pool once"),
        ("domain", f"{'a' * 64}.io", "two labels or more of at most 63 characters each", "for example"),
        ("sites.weu.image", LATEST, "in a compute gallery, three numbers at its end", "versions/1.0.0"),
        ("control_plane.site", "wuu", "'wuu' is not a site", "weu"),
        ("control_plane.site", "use1", "'use1' is not on Azure", "weu"),
        ("control_plane.etcd.learner.zone", "3", "'3' is not a zone of weu", "one of: 1, 2"),
        ("control_plane.etcd.learner.machine_type", "p5.48xlarge", "is a type of aws", "one of: Huge"),
        ("control_plane.etcd.learner.disk_gib", 31, "31", "32"),
        ("control_plane.api.port", 6444, "6444 is the port of the join service on the API servers' machines", "6443"),
        ("control_plane.etcd.machine_type", "Standard_D8s_v5", NO_SSD, "Standard_L8s_v3"),
        ("links/0.between.1", [{"between": ["weu", "cold"], "kind": "existing"}], "'cold' is not a site", "colo"),
        (
            "links/0.between",
            [{"between": ["weu"] * 2, "kind": "existing"}],
            "'weu' is both ends",
            "two different sites",
        ),
        ("links/1.between", PAIRS, "already connected by links.0", "each pair of sites once"),
        (
            "sites.use1.range",
            "10.64.0.0/16",
            "10.64.0.0/16 of use1 overlaps 10.64.0.0/16 of weu",
            "such as 10.65.0.0/16",
        ),
        ("supernet", "10.64.0.0/17", "10.64.0.0/17 is smaller than /16", "/16 or larger"),
        ("supernet", "11.0.0.0/8", "11.0.0.0/8 is not private", "10.0.0.0/8"),
        ("sites.colo.gateways.1.name", "gw-0", "'gw-0' is already a gateway of colo", "colo-gw-0"),
        ("sites.colo.gateways.1.name", "api-7", "begins like the name of a control-plane machine", "colo-api-7"),
        (
            "pools.etcd",
            POOL,
            "is the name of a control-plane role",
            "none of etcd, events, api, vpn",
        ),
        *(
            (
                f"pools.{name}",
                POOL,
                "is the name of the pool of all hosts",
                "none of etcd, events, api, vpn, bare-metal, hosts",
            )
            for name in ("hosts", "bare-metal")
        ),
        ("format", 2, "2 is newer than this release, which reads 1", "the release"),
        ("format", "1", "'1' is not among the choices", "1"),
        ("supernet", "10.64.0.1/12", "bits beyond the prefix", "10.64.0.0/12"),
        ("sites.weu.zones/0", [1], "1 is not text", '"1", in quotes'),
        (
            "access.administrator_key",
            "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY= admin",
            "Azure does not accept a key of type ecdsa-sha2-nistp256",
            "`ssh-keygen -t ed25519`",
        ),
        ("sites.use1.zones/2", ["a", "b", "b"], "'b' is named twice", "each zone once"),
        ("sites.weu.zones/2", ["1", "2", "2"], "'2' is named twice", "each zone once"),
        *(
            ("access.operators/0", [range_], f"{range_} {why}", "the public range that people and CI leave by")
            for range_, why in (
                ("10.0.0.0/8", "is private"),
                ("192.168.7.0/24", "is private"),
                ("0.0.0.0/0", "is the whole internet"),
                ("8.0.0.0/5", "holds addresses that are not public"),
                ("169.254.0.0/16", "holds addresses that are not public"),
                ("100.64.0.0/24", "holds addresses that are not public"),
                ("240.0.0.0/8", "holds addresses that are not public"),
            )
        ),
        *(
            ("access.operators_inside/0", [range_], f"{range_} {why}", "the private addresses of machines")
            for range_, why in (
                ("198.51.100.0/28", "is not private"),
                ("10.64.0.0/12", "holds addresses of pods of weu"),
                ("10.65.128.0/31", "holds addresses of pods of use1"),
            )
        ),
        *(
            ("sites.colo.gateways.1.public_address", address, f"{address} is not public", "the static address")
            for address in ("240.0.0.1", "255.255.255.255", "0.1.2.3")
        ),
        pytest.param(
            "access.administrator_key",
            ssh_key(1024),
            "an RSA key of 1024 bits is too short",
            "ssh-rsa of 2048 bits",
            id="a short RSA key",  # made anew each time, so it cannot be the test's name
        ),
        pytest.param(
            "access.administrator_key",
            ssh_key(1024)[:60],
            "cannot be read as an RSA key",
            "ssh-ed25519",
            id="half an RSA key",
        ),
        ("sites.weu.region", "westeurpoe", "not a region with a known service tag", "westeurope (or one of:"),
        ("sites.weu.kind", "gcp", "'gcp' is not a kind of site", "aws, azure or"),
    ],
)
def test_bad_input(tmp_path: Path, at: str, to: object, wrong: str, instead: str) -> None:
    """``at``: the key of the problem; what stands behind a slash is inside the value."""
    changed_at, _, _ = at.partition("/")
    path = write(tmp_path, changed(changed_at, to), hosts=make.hosts())
    problem = only(path)
    assert (problem.file, problem.key) == (str(path), at.replace("/", ".", 1))
    assert problem.line is not None
    assert wrong in problem.wrong
    assert instead in problem.write


@pytest.mark.parametrize(
    ("range_", "why"), [("10.0.0.0/8", "is private"), ("100.64.0.0/24", "holds addresses that are not public")]
)
def test_laptops_come_from_public_ranges_or_from_anywhere(tmp_path: Path, range_: str, why: str) -> None:
    raw = make.minimal() | {"vpn": {"machine_type": "Standard_D2s_v5", "sources": ["0.0.0.0/0", range_]}}
    problem = only(write(tmp_path, raw))
    assert (problem.key, problem.wrong) == ("vpn.sources.1", f"{range_} {why}")


def test_a_wrong_name_and_an_unknown_key_below_it_are_both_found(tmp_path: Path) -> None:
    pool = {"site": "weu", "machine_type": "Standard_D8s_v5", "max": 1, "machine_typ": "x"}
    raw = make.minimal() | {"pools": {"<<cpu": pool}}
    keys = {problem.key for problem in problems_of(write(tmp_path, raw))}
    assert {"pools.<<cpu", "pools.<<cpu.machine_typ"} <= keys


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


def test_the_smallest_block_holds_no_gateway_that_azure_makes(tmp_path: Path) -> None:
    raw = make.minimal()
    raw["sites"] = {"weu": {**make.AZURE, "prefix": 20}, "use1": make.AWS}
    problem = only(write(tmp_path, raw))
    assert (problem.key, problem.write) == ("sites.weu.prefix", "a block of /19 or larger")
    assert "VPN gateway of weu" in problem.wrong
    raw["sites"]["weu"]["prefix"] = 19
    environment = load(write(tmp_path, raw))
    assert plan(environment).sites["weu"].subnet("gateway").prefixlen == 27


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


def test_a_list_of_wrong_entries_alone_is_told_entry_by_entry(tmp_path: Path) -> None:
    """The list becomes a sample of one entry, in which the others' wrong keys are no more."""
    raw = make.full()
    raw["sites"]["colo"]["gateways"] = [{"control_plane": {}}, {"pools": {}}]
    keys = {problem.key for problem in problems_of(write(tmp_path, raw))}
    assert {"sites.colo.gateways.0.control_plane", "sites.colo.gateways.1.pools"} <= keys
