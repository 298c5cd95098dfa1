"""Promises of a file that cannot be had are errors in one report, with file and line; those in doubt are warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from clouds.aws.ranges import LARGEST_BLOCK, LARGEST_RANGE, vpc_ranges
from components.model import ConfigurationError
from components.model.loading.load import examine
from components.model.loading.unsupported import ANY, UNSUPPORTED
from components.model.network.address_plan import site_plan
from tests.model import make
from tests.model.files import write

Raw = dict[str, Any]
CUT = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEUNXLRu8WjgGD6C9kQ"
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"
OTHER_TYPE = "ssh-ed25519 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY="


@dataclass(frozen=True, kw_only=True)
class Said:
    """Report of a file: each line's key and what is wrong."""

    problems: dict[str, str]
    warnings: dict[str, str]


def valid() -> Raw:
    """Return a file that nothing is wrong with: one site of each kind, a pool with GPUs and one without, and
    API servers for more nodes than any case has."""
    raw = make.minimal()
    raw["control_plane"]["api"] |= {"servers": 11, "machine_type": "Standard_E32s_v5"}
    raw["sites"] |= {"use1": make.AWS | {"prefix": 16}, "colo": make.ONPREM}
    raw["sites"]["colo"] = {"kind": "onprem", "gateways": [gateway("gw-0", "203.0.113.10")]}
    raw["pools"] = {
        "cpu": {"site": "use1", "machine_type": "m7i.4xlarge", "min": 1, "max": 100},
        "gpu": {"site": "use1", "machine_type": "p5.48xlarge", "max": 100},
        "a100": {"site": "weu", "machine_type": "Standard_ND96amsr_A100_v4", "max": 100},
    }
    return raw


def gateway(name: str, address: str, key: str | None = make.KEY) -> Raw:
    return {"name": name, "public_address": address, **({"host_key": key} if key else {})}


def said(folder: Path, raw: Raw, *, hosts: object = None) -> Said:
    """Return what is said of a file. Every line names the line of its file."""
    path = write(folder, raw, hosts=hosts)
    try:
        found = examine(path)
    except ConfigurationError as error:
        problems, warnings = error.problems, error.warnings
    else:
        problems, warnings = (), found.warnings
    assert all(one.line is not None and one.write for one in (*problems, *warnings))
    return Said(problems={one.key: one.wrong for one in problems}, warnings={one.key: one.wrong for one in warnings})


def absurd(raw: Raw) -> None:
    """Four absurdities that were once called safe."""
    raw["sites"]["use1"] |= {"region": "us-east-9", "prefix": 20}
    raw["sites"]["colo"]["gateways"].append(gateway("gw-1", "203.0.113.10", OTHER_KEY))
    raw["pools"]["cpu"]["max"] = 7400
    raw["pools"]["gpu"] |= {"max": 500, "fallbacks": ["cpu"]}


def zones(raw: Raw) -> None:
    """A region with two zones has no room for what is declared, though each pool fits by itself."""
    raw["pools"]["cpu"]["max"] = raw["pools"]["gpu"]["max"] = 700


def one_zone(raw: Raw) -> None:
    raw["sites"]["use1"]["zones"] = ["a", "b", "c", "d"]
    for name in ("cpu", "gpu"):
        raw["pools"][name] |= {"max": 300, "zones": ["a"]}


def azure_room(raw: Raw) -> None:
    raw["sites"]["weu"]["prefix"] = 19
    raw["control_plane"]["api"]["servers"] = 2
    raw["pools"]["a100"]["max"] = 241


def azure_network(raw: Raw) -> None:
    """A network of Azure's has 65,536 addresses, however large its range."""
    raw["sites"]["weu"]["prefix"] = 14
    raw["pools"]["a100"]["max"] = 3852


def azure_peered(raw: Raw) -> None:
    """Each site has room, but networks that are peered have 128,000 addresses together."""
    for name in ("weu", "neu"):
        raw["sites"][name] = make.AZURE | {"prefix": 15}
        raw["pools"][f"cpu-{name}"] = {"site": name, "machine_type": "Standard_D8s_v5", "max": 3700}
    raw["pools"]["a100"]["max"] = 122


def not_peered(raw: Raw) -> None:
    azure_peered(raw)
    raw["links"] = [{"between": ["weu", "neu"], "kind": "existing"}]


def aws_block(raw: Raw) -> None:
    """EC2's largest subnet is a /16, and a zone has an eighth of its site's block."""
    raw["supernet"] = "10.0.0.0/8"
    raw["sites"]["use1"] |= {"prefix": 12}
    raw["sites"]["far"] = make.AWS | {"range": "10.128.0.0/11"}
    raw["sites"]["large"] = make.AWS | {"prefix": 13}
    for name, most in (("one", 3841), ("other", 3839)):
        raw["pools"][name] = {"site": "large", "machine_type": "m7i.4xlarge", "max": most}


def aws_room(raw: Raw) -> None:
    aws_block(raw)
    raw["sites"] = {name: raw["sites"][name] for name in ("weu", "colo", "large")} | {"use1": make.AWS | {"prefix": 16}}
    raw["pools"]["other"]["max"] = 3840


def total(raw: Raw) -> None:
    raw["max_nodes"] = 299


def small_servers(raw: Raw) -> None:
    """32 GiB are enough for 1,500 nodes; one server is too few from 1,501 on."""
    raw["max_nodes"] = 3000
    raw["control_plane"]["api"] |= {"servers": 1, "machine_type": "Standard_D8s_v5"}


def loop(raw: Raw) -> None:
    raw["pools"]["gpu"]["fallbacks"] = ["a100"]
    raw["pools"]["a100"]["fallbacks"] = ["gpu"]


def private(raw: Raw) -> None:
    raw["sites"]["colo"]["gateways"] = [gateway("gw-0", "10.1.2.3"), gateway("gw-1", "100.64.0.1", OTHER_KEY)]


def cut_keys(raw: Raw) -> None:
    raw["sites"]["colo"]["gateways"] = [
        gateway("gw-0", "203.0.113.10", CUT),
        gateway("gw-1", "203.0.113.11", OTHER_TYPE),
    ]


def missing_key(raw: Raw) -> None:
    raw["sites"]["colo"]["gateways"] = [gateway("gw-0", "203.0.113.10", None)]


def unsold(raw: Raw) -> None:
    raw["sites"]["use1"] |= {"region": "eu-west-3"}
    raw["machine_types"] = {"p99.huge": {"cloud": "aws", "vcpus": 8, "memory_gib": 64}}
    raw["pools"]["cpu"]["machine_type"] = "p99.huge"


def no_such_azure_region(raw: Raw) -> None:
    raw["sites"]["far"] = make.AZURE | {"region": "atlantis"}


def four_zones(raw: Raw) -> None:
    raw["sites"]["use1"] |= {"region": "us-east-2", "zones": ["a", "b", "c", "d"]}


def far_zone(raw: Raw) -> None:
    raw["sites"]["use1"] |= {"region": "us-east-2", "zones": ["a", "q"]}


def placeholder(raw: Raw) -> None:
    raw["sites"]["use1"]["image"] = "ami-00000000000000000"
    raw["sites"]["weu"]["image"] = make.IMAGE.replace("1.0.0", "0.0.0")


def idle(raw: Raw) -> None:
    raw["pools"]["gpu"] |= {"priority": 20, "fallbacks": ["a100"], "spare": 1}


def azure_zones(raw: Raw) -> None:
    raw["sites"]["weu"]["zones"] = ["1", "4"]


def untested(raw: Raw) -> None:
    raw["versions"] = {"kubernetes": "1.99.0", "etcd": "9.9.9"}


def no_node(raw: Raw) -> None:
    del raw["pools"]["cpu"]["min"]


def lonely_vpn(raw: Raw) -> None:
    """Have people sign in, and none of them connect."""
    raw["vpn"] = {"machine_type": "Standard_D2s_v5"}
    raw["identity"] = {"issuers": {"corp": make.issuer()}, "groups": {"corp:ml": {"everywhere": "view"}}}


def lonely_teams(raw: Raw) -> None:
    raw["teams"] = {"visual": {"groups": ["corp:visual"], "shares": {"cpu": {"cores": 4}}}}


def other_kinds(raw: Raw) -> None:
    """Have one fallback within its kind, and one that work of teams does not go on to."""
    raw |= {"autoscaler": {}, "identity": {"issuers": {"corp": make.issuer()}}}
    raw["pools"]["spot"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 8, "spot": True}
    raw["pools"]["near"] = {"site": "use1", "machine_type": "p5.48xlarge", "max": 8, "spare": 8}
    raw["pools"]["gpu"]["fallbacks"] = ["near", "spot"]
    shares = {"h100": {"gpus": 8}, "h100-spot": {"gpus": 1}}
    raw["teams"] = {"visual": {"groups": ["corp:visual"], "shares": shares}}


def one_key(raw: Raw) -> None:
    raw["sites"]["colo"]["gateways"] = [gateway("gw-0", "203.0.113.10"), gateway("gw-1", "203.0.113.11")]


def waivers(raw: Raw) -> None:
    common = {"resource": "test-x", "why": "made anew every week", "approved_by": "somebody"}
    raw["waivers"] = [
        {"rule": "nope", "until": "2030-01-01", **common},
        {"rule": "secret-in-plain", "until": "2030-01-01", **common},
    ]


def ended_waiver(raw: Raw) -> None:
    waivers(raw)
    raw["waivers"] = [raw["waivers"][0] | {"rule": "vault-recoverable", "until": "2020-01-01"}]


CASES: dict[str, tuple[Callable[[Raw], None], dict[str, str], dict[str, str]]] = {
    "absurd": (
        absurd,
        {
            "pools.cpu.max": "7,400 nodes do not fit into",
            "pools.gpu.max": "500 nodes do not fit into",
            "pools.gpu.fallbacks.0": "'cpu' has no GPUs, and each p5.48xlarge has 8",
            "sites.colo.gateways.1.public_address": "203.0.113.10 is the address of gw-0 in colo too",
        },
        {
            "sites.use1.region": "'us-east-9' is no region of AWS in its table of ",
            "pools.gpu.fallbacks": "it has no effect without an autoscaler",
        },
    ),
    "zones": (
        zones,
        {"sites.use1.prefix": "use1 may have 1,400 nodes, which do not fit into 10.65.128.0/19 (480)"},
        {},
    ),
    "one-zone": (one_zone, {"sites.use1.prefix": "may have 600 nodes, which do not fit into 10.65.128.0/19 (480)"}, {}),
    "azure-room": (azure_room, {"pools.a100.max": "241 nodes do not fit into 10.64.16.0/20 (240)"}, {}),
    "azure-network": (azure_network, {"pools.a100.max": "3,852 nodes do not fit into 10.66.0.0/15 (3,851)"}, {}),
    "azure-peered": (
        azure_peered,
        {"pools.cpu-weu.max": "weu and neu may have 7,522 nodes, and peered networks have addresses for 7,521"},
        {},
    ),
    "azure-not-peered": (not_peered, {}, {}),
    "aws-block": (
        aws_block,
        {
            "sites.use1.prefix": "a /12 has a /15 for each zone, and EC2 makes no subnet larger than a /16",
            "sites.far.range": "a /11 has a /14 for each zone",
        },
        {},
    ),
    "aws-room": (aws_room, {"sites.large.prefix": "may have 7,681 nodes, which do not fit into"}, {}),
    "total": (total, {"max_nodes": "299 are fewer than the pools' maxima and the hosts together: 300 + 0"}, {}),
    "small-servers": (
        small_servers,
        {},
        {
            "control_plane.api.machine_type": "has 32 GiB of memory, and an API server for 3,000 nodes needs 51",
            "control_plane.api.servers": "1 are few for 3,000 nodes: about one for each 1,500",
        },
    ),
    "loop": (
        loop,
        {"pools.gpu.fallbacks": "the fallbacks come back to gpu: gpu -> a100 -> gpu"},
        {},
    ),
    "private": (
        private,
        {
            "sites.colo.gateways.0.public_address": "10.1.2.3 is not public",
            "sites.colo.gateways.1.public_address": "100.64.0.1 is not public",
        },
        {},
    ),
    "cut-keys": (
        cut_keys,
        {
            "sites.colo.gateways.0.host_key": "is not a key: its second word is incomplete",
            "sites.colo.gateways.1.host_key": "is not a key of type ssh-ed25519: the second word is of another type",
        },
        {},
    ),
    "missing-key": (missing_key, {}, {"sites.colo.gateways.0.host_key": "is missing for gw-0"}),
    "unsold": (
        unsold,
        {},
        {
            "pools.gpu.machine_type": "p5.48xlarge is not known to be sold in eu-west-3",
            "pools.cpu.machine_type": "does not list the type",
        },
    ),
    "azure-region": (no_such_azure_region, {}, {"sites.far.region": "'atlantis' is no region of Azure"}),
    "four-zones": (four_zones, {}, {"sites.use1.zones": "us-east-2 has the zones a, b and c in AWS's table of"}),
    "far-zone": (far_zone, {}, {"sites.use1.zones": "a and q are named"}),
    "placeholder": (placeholder, {}, {"sites.use1.image": "still to be baked", "sites.weu.image": "still to be baked"}),
    "azure-zones": (azure_zones, {}, {"sites.weu.zones": "no region of Azure is known to have the zone 4"}),
    "untested": (
        untested,
        {},
        {
            "versions.kubernetes": "this release pins no kubernetes 1.99.0",
            "versions.etcd": "this release pins no etcd 9.9.9",
        },
    ),
    "no-node": (no_node, {}, {"pools": "no pool has a `min`, and there is no host: nothing runs CoreDNS"}),
    "lonely-vpn": (lonely_vpn, {}, {"vpn": "nobody can sign in to it: only operators get in"}),
    "lonely-teams": (lonely_teams, {}, {"teams": "nobody can sign in as a member of a team"}),
    "other-kinds": (
        other_kinds,
        {},
        {
            "pools.near.spare": "8 is the pool's `max`: the whole pool always runs",
            "pools.gpu.fallbacks.1": "spot is of the kind h100-spot and gpu of h100: work of teams stays within its",
            "teams.visual.shares.h100-spot.gpus": "the cloud may take these machines back",
        },
    ),
    "one-key": (one_key, {}, {"sites.colo.gateways.1.host_key": "is the same key for gw-0 and gw-1"}),
    "waivers": (
        waivers,
        {
            "waivers.0.rule": "there is no rule 'nope'",
            "waivers.1.rule": "secret-in-plain cannot be waived",
        },
        {},
    ),
    "ended-waiver": (ended_waiver, {}, {"waivers.0.until": "vault-recoverable for test-x ended on 2020-01-01"}),
    "idle": (
        idle,
        {},
        dict.fromkeys(
            ("pools.gpu.priority", "pools.gpu.fallbacks", "pools.gpu.spare"), "it has no effect without an autoscaler"
        ),
    ),
}


@pytest.mark.parametrize("rights", [{"vpn": True}, {"everywhere": "cluster-admin"}])
def test_nothing_is_said_of_a_vpn_that_somebody_may_use(tmp_path: Path, rights: Raw) -> None:
    raw = valid()
    lonely_vpn(raw)
    raw["identity"]["groups"]["corp:admins"] = rights
    assert said(tmp_path, raw) == Said(problems={}, warnings={})


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_had_is_said(name: str, tmp_path: Path) -> None:
    change, problems, warnings = CASES[name]
    raw = valid()
    change(raw)
    found = said(tmp_path, raw)
    for told, wanted in ((found.problems, problems), (found.warnings, warnings)):
        assert told.keys() == wanted.keys(), told
        assert all(words in told[key] for key, words in wanted.items()), told


def test_nothing_is_said_of_a_file_that_can_be_had(tmp_path: Path) -> None:
    assert said(tmp_path, valid()) == Said(problems={}, warnings={})


def test_the_autoscaler_acts_on_priority_and_fallbacks(tmp_path: Path) -> None:
    raw = valid() | {"autoscaler": {}}
    raw["pools"]["cpu"]["min"] = 1
    idle(raw)
    assert said(tmp_path, raw) == Said(problems={}, warnings={})


def test_an_autoscaler_that_acts_keeps_within_the_most_nodes(tmp_path: Path) -> None:
    """So does one that was stopped by having it look. Machines that always run are never more than there may be."""
    raw = valid() | {"autoscaler": {}}
    raw["pools"]["cpu"]["min"] = 3
    total(raw)
    assert said(tmp_path, raw) == Said(problems={}, warnings={})
    assert "max_nodes" not in said(tmp_path, raw | {"autoscaler": {"dry_run": True}}).problems
    none = {key: value for key, value in raw.items() if key != "autoscaler"}
    assert "fewer than the pools' maxima" in said(tmp_path, none).problems["max_nodes"]
    fewer = said(tmp_path, raw | {"max_nodes": 2}).problems["max_nodes"]
    assert fewer.startswith("2 are fewer than the pools' `min` and the hosts together: 3 + 0")


@pytest.mark.parametrize("section", ["teams", "autoscaler"])
def test_without_teams_or_an_autoscaler_less_is_in_doubt(section: str, tmp_path: Path) -> None:
    raw = valid()
    other_kinds(raw)
    del raw[section]
    warnings = said(tmp_path, raw).warnings
    assert ("pools.gpu.fallbacks.1" in warnings) == (section != "teams")
    assert ("always runs" in warnings["pools.near.spare"]) == (section != "autoscaler")


def test_hosts_without_a_key_are_one_warning_and_those_with_a_wrong_one_are_errors(tmp_path: Path) -> None:
    raw = valid() | {"bare_metal": "hosts.test.yaml", "max_nodes": 305}
    hosts = [make.host(f"node-{index}") for index in range(5)]
    found = said(tmp_path, raw, hosts=make.rack(*hosts))
    assert found.problems == {}
    assert "missing for node-0, node-1, node-2 and 2 more" in found.warnings["hosts.0.host_key"]
    assert "hosts.3.host_key" in said(tmp_path, raw, hosts=make.rack(*hosts[:3], make.host("x", host_key=CUT))).problems


def test_a_larger_block_is_proposed(tmp_path: Path) -> None:
    raw = valid()
    zones(raw)
    with pytest.raises(ConfigurationError, match="such as a /15"):
        examine(write(tmp_path, raw))


@pytest.mark.parametrize("change", [azure_network, aws_room])
def test_what_no_block_holds_needs_a_second_site(change: Callable[[Raw], None], tmp_path: Path) -> None:
    raw = valid()
    change(raw)
    with pytest.raises(ConfigurationError, match=r"at most( \d+)?; or a second site for the rest"):
        examine(write(tmp_path, raw))


def test_the_largest_block_on_aws_is_that_of_the_largest_subnet() -> None:
    zone = site_plan(IPv4Network((10 << 24, LARGEST_BLOCK))).zone_pods(0)
    assert zone.prefixlen == LARGEST_RANGE
    assert [len(vpc_ranges(IPv4Network((10 << 24, prefix)))) for prefix in (13, 14, 16, 17)] == [8, 4, 1, 1]


@pytest.mark.parametrize("key", UNSUPPORTED, ids=".".join)
def test_a_key_that_nothing_acts_on_is_refused_and_told_what_it_will_be(key: tuple[str, ...], tmp_path: Path) -> None:
    raw = valid()
    path = ["gpu" if part == ANY else part for part in key]
    place = raw
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = {"every": "1h"}
    found = said(tmp_path, raw)
    assert found.problems == {".".join(path): f"is not supported yet: {UNSUPPORTED[key]}"}
