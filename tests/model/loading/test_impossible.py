"""Files whose every value is valid by itself and that cannot work: each is refused, with what to write."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from components.model import ConfigurationError, Environment, load, load_directory
from components.model.hosts.section import Hosts
from components.model.loading.load import check_neighbours, examine
from components.model.loading.validate import validate
from components.model.versions.section import offered_versions
from contract.ports import API_SERVER_PORTS
from tests.model import make
from tests.model.files import only, write
from tests.model.loading.test_fields import inside, locations


@pytest.mark.parametrize(("port", "program"), API_SERVER_PORTS.items())
def test_the_api_takes_no_port_of_another_program(tmp_path: Path, port: int, program: str) -> None:
    raw = make.minimal()
    raw["control_plane"]["api"]["port"] = port
    problem = only(write(tmp_path, raw))
    assert problem.key == "control_plane.api.port"
    assert f"{port} is the port of {program} on the API servers' machines" in problem.wrong


def test_every_port_of_units_on_api_servers_is_known(root: Path) -> None:
    units = root / "images/rootfs/etc/systemd/system"
    (wanted,) = re.findall(r"^Requires=(.+)$", (units / "longhaul-api.target").read_text(), re.MULTILINE)
    (others,) = re.findall(r"^Wants=(.+)$", (units / "longhaul-api.target").read_text(), re.MULTILINE)
    services = [name for name in f"{wanted} {others}".split() if name.endswith(".service")]
    text = "\n".join((units / name).read_text() for name in services)
    ports = set(re.findall(r"--secure-port=(\d+)|^SocketBindAllow=ipv4:tcp:(\d+)$", text, re.MULTILINE))
    numbers = {int(a or b) for a, b in ports}
    assert numbers
    assert numbers <= API_SERVER_PORTS.keys()


PINS = f'"{offered_versions("kubernetes")[1]}"; this release pins {" and ".join(offered_versions("kubernetes"))}'
SHADOW = "machines would no longer find"
DEPOT = "depot.test.longhaul.internal"
CUT_KEY = make.KEY[:-12]
OWN = make.AZURE | dict.fromkeys(("subscription", "tenant"), f"2{make.UUID[1:]}")
OTHER_TYPE = "ssh-ed25519 AAAAB3NzaC1yc2E="
WAIVER = make.full()["waivers"][0]
TEAMS = {
    "teams": {
        "visual": {"groups": ["corp:v"], "shares": {"h100": {}}},
        "robotics": {"groups": ["corp:v", "corp:r"], "shares": {"h100": {}}},
    }
}
BLOCK = {"id": "cr-0123456789abcdef0", "kind": "capacity-block"}
RADEON = {"cloud": "azure", "vcpus": 96, "memory_gib": 1850, "gpus": 8, "gpu_model": "MI300X"}


def changed(at: str, to: object) -> dict[str, Any]:
    """Return the smallest environment, an issuer, a VPN and a pool on AWS with another value at a key."""
    raw = make.minimal()
    raw["sites"]["use1"] = dict(make.AWS)
    raw["pools"] = {"gpu": {"site": "use1", "machine_type": "p5.48xlarge", "max": 4, "zones": ["a"]}}
    raw["identity"] = {"issuers": {"corp": make.issuer()}}
    *above, last = at.split(".")
    place: Any = raw
    for part in above:
        place = place.setdefault(part, {})
    place[last] = to
    return raw


@pytest.mark.parametrize(
    ("at", "to", "key", "wrong", "instead"),
    [
        ("domain", "example.com", "domain", f"{SHADOW} corp.example.com", "test.longhaul.internal"),
        ("domain", "corp.example.com", "domain", f"{SHADOW} corp.example.com", "test.longhaul.internal"),
        ("sites.use1.depot", f"https://{DEPOT}", "domain", f"{SHADOW} {DEPOT}", "test.longhaul.internal"),
        ("domain", "vault.azure.net", "domain", f"{SHADOW} Azure's services below azure.net", "longhaul.internal"),
        ("domain", "amazonaws.com", "domain", f"{SHADOW} AWS's services below amazonaws.com", "longhaul.internal"),
        ("domain", "prod.cluster.local", "domain", "cluster.local is the cluster's own zone", "longhaul.internal"),
        (
            "sites.weu.private_zones",
            ["local"],
            "sites.weu.private_zones.0",
            "the cluster's own zone",
            "corp.example.com",
        ),
        (
            "sites.weu.private_zones",
            ["10.in-addr.arpa"],
            "sites.weu.private_zones.0",
            "10.in-addr.arpa overlaps it",
            "corp",
        ),
        ("domain", "prod.acme.local", "domain", "of one link by multicast (RFC 6762)", "test.longhaul.internal"),
        (
            "identity.issuers.corp.url",
            "https://sso.example.com/realms/main/.well-known/openid-configuration",
            None,
            "the issuer's document",
            "https://sso.example.com/realms/main",
        ),
        ("sites.weu", OWN, "sites.weu.tenant", "is the id of the subscription", "az account show"),
        ("pools.gpu.gpu_check", ["dcgmi -r 3"], "pools.gpu.gpu_check.0", "one word", '["dcgmi", "-r", "3"]'),
        ("access.administrator_key", CUT_KEY, None, "is incomplete", "ssh-keygen -t ed25519"),
        ("access.administrator_key", OTHER_TYPE, None, "is of another type", "ssh-keygen -t ed25519"),
        ("machine_types.X", RADEON, "machine_types.X.gpu_model", "not a GPU of NVIDIA's", "leave it out"),
        ("pools.gpu.machine_type", "g4ad.xlarge", None, "has GPUs of AMD's", "GPUs of NVIDIA's"),
        ("pools.gpu.machine_type", "trn2.48xlarge", None, "has AWS's Trainium", "GPUs of NVIDIA's"),
        ("pools.gpu.machine_type", "Standard_ND96isr_MI300X_v5", None, "has GPUs of AMD's", "GPUs of NVIDIA's"),
        ("pools.gpu.machine_type", "Standard_NV4as_v4", None, "has GPUs of AMD's", "GPUs of NVIDIA's"),
        ("versions.kubernetes", "1.37", None, "not three numbers", PINS),
        ("versions.kubernetes", 1.37, None, "1.37 is not text", PINS),
        ("used", ["192.168.0.0/16", "10.70.0.0/16"], "supernet", "overlaps 10.70.0.0/16", "such as 10.0.0.0/12"),
        (
            "pools.gpu.reservation",
            BLOCK | {"begins": "2027-03-02", "ends": "2027-03-01"},
            "pools.gpu.reservation.ends",
            "is before it begins",
            "the last day",
        ),
        (
            "extended_resources",
            ["fuse"],
            "extended_resources.0",
            "is not the name of a device plugin's",
            "smarter-devices/fuse",
        ),
        ("clusterr", {}, None, "is not a key", "control_plane, if that was meant"),
        ("node_pools", {}, None, "is not a key", "pools, if that was meant"),
        ("nodes", {}, None, "is not a key", "pools, if that was meant"),
        ("operators", [], None, "is not a key", "access.operators, if that was meant"),
        ("sites.use1.kms_key", "arn", None, "is not a key", "longhaul image build --key"),
        ("sites.use1.account", "1234 5678 9012", None, "12 digits in quotes", '"123456789012", in quotes'),
        ("proxy", "http://a:3128", None, "is not a key", "docs/depot.md"),
        ("administrators", {}, None, "is not a key", "access.administrators, if that was meant"),
        ("control_plane.round_trip_ms", 0, None, "0 is not more than 0", "a number, more than 0, at most 500"),
        ("waivers", [WAIVER | {"approved_by": "x"}], "waivers.0.approved_by", "at least 3 are needed", "security@"),
        ("waivers", [WAIVER | {"until": "soon"}], "waivers.0.until", "'soon' is not a date", "2027-03-31"),
        ("pools.gpu.gpu_check", [""], "pools.gpu.gpu_check.0", "is empty", "text"),
    ],
)
def test_what_cannot_work_is_refused(
    tmp_path: Path, at: str, to: object, key: str | None, wrong: str, instead: str
) -> None:
    problem = only(write(tmp_path, changed(at, to)))
    assert problem.key == (key or at)
    assert wrong in problem.wrong
    assert instead in problem.write


def test_a_zone_that_exists_may_have_other_names(tmp_path: Path) -> None:
    zone = f"/subscriptions/{make.UUID}/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/example.com"
    raw = changed("domain", "example.com")
    raw["sites"]["weu"] = {**make.AZURE, "existing": {"dns_zone": zone}}
    assert "domain" not in {warning.key for warning in examine(write(tmp_path, raw)).warnings}


def test_no_word_of_the_library_reaches_people() -> None:
    values = ("", "x", 0, -1, 10**30, 0.5, float("inf"), "a" * 20_000, "2027-13-99")
    for model, raw in ((Environment, make.full()), (Hosts, make.hosts())):
        for *above, last in locations(raw):
            for value in values:
                wrong = copy.deepcopy(raw)
                inside(wrong, tuple(above))[last] = value
                for fault in validate(model, wrong).findings:
                    assert not re.search(r"should|input|valid|unable", fault.wrong), (above, last, fault.wrong)


def test_no_two_environments_have_one_domain(tmp_path: Path) -> None:
    write(tmp_path, make.minimal() | {"name": "a"}, name="a")
    path = write(tmp_path, make.minimal() | {"name": "b", "supernet": "10.96.0.0/12"}, name="b")
    for check in (lambda: load_directory(tmp_path), lambda: check_neighbours(load(path), source=path)):
        with pytest.raises(ConfigurationError) as caught:
            check()
        (problem,) = caught.value.problems
        assert (problem.file, problem.key) == (str(path), "domain")
        assert f"test.longhaul.internal is the domain of a too, {tmp_path / 'Pulumi.a.yaml'}:" in problem.wrong
        assert "b.longhaul.internal" in problem.write


DOUBTFUL = {
    "PublicDomain": changed("domain", "acme.com"),
    "VersionUnpinned": changed("versions.kubernetes", "1.37.0"),
    "GpuModelUnknown": changed("machine_types.X", RADEON | {"gpu_model": "H1OO"}),
    "NamespaceOfNoTeam": changed("identity.groups", {"corp:x": {"namespaces": {"visua": "view"}}}) | TEAMS,
    "GroupInTwoTeams": changed("domain", "test.longhaul.internal") | TEAMS,
}
for day, dates in {"Ended": {"ends": "2026-01-01"}, "NotBegun": {"begins": "2199-01-01"}, "Undated": {}}.items():
    DOUBTFUL[f"Reservation{day}"] = changed("pools.gpu.reservation", {**BLOCK, **dates})
    DOUBTFUL[f"Reservation{day}"]["pools"]["gpu"]["min"] = 4
KEYS = {
    "ReservationEnded": ("pools.gpu.reservation.ends", "of another reservation"),
    "ReservationNotBegun": ("pools.gpu.min", "0 until then"),
    "ReservationUndated": ("pools.gpu.reservation", "aws ec2 describe-capacity-reservations"),
    "PublicDomain": ("domain", "test.acme.com"),
    "VersionUnpinned": ("versions.kubernetes", '"1.37.2"'),
    "GpuModelUnknown": ("machine_types.X.gpu_model", "H100, if that was meant"),
    "NamespaceOfNoTeam": ("identity.groups.corp:x.namespaces.visua", "visual, if that was meant"),
    "GroupInTwoTeams": ("teams.robotics.groups.0", "a group for each team"),
}


@pytest.mark.parametrize("reason", KEYS)
def test_a_doubt_is_a_warning(tmp_path: Path, reason: str) -> None:
    warnings = {warning.key: warning for warning in examine(write(tmp_path, DOUBTFUL[reason])).warnings}
    key, instead = KEYS[reason]
    assert instead in warnings[key].write
