"""Properties of every machine's map of files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest
import yaml

from clouds.registry import cloud_of
from components.model import Environment, Role, certificates, control_machines, plan, shared_secrets
from components.model.control_plane.size import api_arguments
from components.model.secrets.vault import ISSUERS, VPN_REMOTES
from components.render import File, UserDataError, files, user_data, vault_secrets
from components.render.cloud_init import UserData, cloud_config
from components.render.documents import environment_file
from contract.ports import ETCD_CLIENT_PORT, ETCD_PEER_PORT
from tests.model.make import environment, issuer, minimal
from tests.render.conftest import Case, cases
from tests.support.hosts import stack_file

ROOTFS = Path(__file__).parents[2] / "images" / "rootfs"


def test_a_machine_is_told_who_it_is_and_serves_at_its_own_address(case: Case) -> None:
    machine, addresses = case.machine, case.addresses
    found = {path: file.content for path, file in files(case.environment, addresses, machine).items()}
    node = json.loads(found["/etc/longhaul/node.json"])
    own = {"machine": machine.name, "role": str(machine.role), "index": machine.index, "address": str(machine.address)}
    assert {key: node[key] for key in own} == own
    if machine.role is Role.API:
        told = found["/etc/longhaul/kube-apiserver.env"].split()
        assert {f"--advertise-address={machine.address}", *api_arguments(case.environment)} <= {
            one.removeprefix("KUBE_APISERVER_ARGS=") for one in told
        }
    elif machine.role is Role.VPN:
        tunnel = addresses.tunnel_range(machine.index)
        assert f"\nserver {tunnel.network_address} {tunnel.netmask}\n" in found["/etc/longhaul/openvpn.conf"]
        assert found["/etc/longhaul/vpn.nft"].count(str(tunnel)) == 2
    else:
        settings = dict(line.split("=", 1) for line in found["/etc/longhaul/etcd.env"].splitlines()[1:])
        assert settings["ETCD_NAME"] == machine.name
        assert {value for key, value in settings.items() if key.endswith("_URLS")} == {
            f"https://{machine.address}:{port}" for port in (ETCD_CLIENT_PORT, ETCD_PEER_PORT)
        }


def test_nothing_secret_is_on_the_map(case: Case) -> None:
    for path, file in files(case.environment, case.addresses, case.machine).items():
        assert not file.secret, path
        assert "PRIVATE KEY" not in file.content, path
        assert "CERTIFICATE" not in file.content, path


def test_user_data_fits_and_carries_the_map(case: Case) -> None:
    text = user_data(case.environment, case.addresses, case.machine)
    assert text.startswith("#cloud-config\n")
    most = cloud_of(case.environment.sites[case.machine.site]).user_data_limit
    assert most is not None
    assert len(text.encode()) <= most
    carried = {entry["path"]: entry for entry in yaml.safe_load(text)["write_files"]}
    wanted = files(case.environment, case.addresses, case.machine)
    assert list(carried) == list(wanted)
    for path, file in wanted.items():
        assert carried[path]["content"] == file.content
        assert int(carried[path]["permissions"], 8) == file.mode
        assert carried[path]["owner"] == file.owner


def test_a_machine_starts_one_target_that_the_image_has(case: Case) -> None:
    commands = yaml.safe_load(user_data(case.environment, case.addresses, case.machine))["runcmd"]
    targets = set(re.findall(r"longhaul-[a-z]+\.target", json.dumps(commands)))
    assert len(targets) == 1
    assert (ROOTFS / "etc/systemd/system" / targets.pop()).is_file()


def test_a_machine_reads_exactly_its_own_secrets(case: Case) -> None:
    read = set(vault_secrets(case.environment, case.addresses, case.machine))
    own = {one.name for one in certificates(case.environment, case.addresses) if one.holder == case.machine.name}
    machines = control_machines(case.environment, case.addresses)
    shared = {one.name for one in shared_secrets(machines) if case.machine.name in one.holders}
    trusted = {name for name in read if name.startswith("trust-")}
    # The authorities whose key is on machines: the node signer signs with the first, a VPN machine with the second.
    more = {Role.API: {"ca-nodes", ISSUERS}, Role.VPN: {"ca-vpn", VPN_REMOTES}}
    assert read == own | shared | trusted | more.get(case.machine.role, set())
    servers = {"kubernetes", "front-proxy", "nodes", "administrators", Role.ETCD, Role.EVENTS}
    others = {Role.API: servers, Role.VPN: {"kubernetes", "vpn"}}
    assert trusted == {f"trust-{name}" for name in others.get(case.machine.role, {"etcd-client", case.machine.role})}


def test_what_is_fetched_is_what_the_access_is_for(case: Case) -> None:
    text = files(case.environment, case.addresses, case.machine)["/etc/longhaul/secrets.json"].content
    fetched = set(re.findall(r"\$\{([a-z0-9-]+)", text))
    node = json.loads(files(case.environment, case.addresses, case.machine)["/etc/longhaul/node.json"].content)
    state = {node["state_secret"]} if case.machine.role.is_etcd else set()
    assert fetched | state == set(vault_secrets(case.environment, case.addresses, case.machine))


def test_units_and_files_name_the_same_paths(case: Case) -> None:
    """Every path below /etc/longhaul that a unit or a file of the map names is on the map or fetched."""
    found = files(case.environment, case.addresses, case.machine)
    fetched = {file["path"] for file in json.loads(found["/etc/longhaul/secrets.json"].content)["files"]}
    servers = [f"kube-{part}.service" for part in ("apiserver", "controller-manager", "node-signer", "scheduler")]
    vpn = [f"longhaul-vpn{part}.service" for part in ("", "-filter", "-proxy")]
    names = {Role.API: servers, Role.VPN: vpn}.get(case.machine.role, ["etcd.service"])
    texts = [(ROOTFS / "etc/systemd/system" / name).read_text() for name in names]
    texts += [file.content for path, file in found.items() if path.endswith((".kubeconfig", ".env", ".yaml", ".conf"))]
    texts += [file["content"] for file in json.loads(found["/etc/longhaul/secrets.json"].content)["files"]]
    named = set(re.findall(r"/etc/longhaul/[\w./-]*\w", "\n".join(texts)))
    assert named <= found.keys() | fetched
    # Files that our own programs name: etcd members' client certificate, the node controller, the join endpoint and its
    # list, longhaul-node; the sign-in endpoint of a VPN machine and its signer.
    programs = {
        "autoscaler.pem",
        "client.pem",
        "node-controller.pem",
        "join.pem",
        "quarantine.json",
        "revoked.json",
        "rotations.json",
    }
    programs |= {"laptop-key", "vpn-authority.pem", "vpn-door.pem", "vpn-remotes.json"}
    assert {path for path in fetched - named if Path(path).name not in programs} == set()


# A change that does not concern a machine leaves its user-data alone.


def with_pool(raw: dict) -> None:
    raw.setdefault("pools", {})["extra"] = {"site": "weu", "machine_type": "Standard_D8s_v5", "max": 3}


def with_site(raw: dict) -> None:
    first = next(iter(raw["sites"].values()))
    raw["sites"]["extra"] = {**{key: value for key, value in first.items() if key != "range"}, "region": "northeurope"}


def with_etcd_members(raw: dict) -> None:
    raw["control_plane"]["etcd"]["members"] = 7


def with_events_members(raw: dict) -> None:
    raw["control_plane"]["events"]["members"] = 7


def with_api_servers(raw: dict) -> None:
    raw["control_plane"]["api"]["servers"] = 15


def with_larger_machines(raw: dict) -> None:
    raw["control_plane"]["api"]["machine_type"] = "Standard_D32s_v5"


def with_tags(raw: dict) -> None:
    raw["tags"] = {"team": "x"}


def with_an_issuer(raw: dict) -> None:
    raw["identity"] = {"issuers": {"corp": issuer()}, "groups": {"corp:ml": {"everywhere": "view"}}}


CHANGES = [
    with_pool,
    with_site,
    with_etcd_members,
    with_events_members,
    with_api_servers,
    with_larger_machines,
    with_tags,
    with_an_issuer,
]


def changed(name: str, change: Callable[[dict], None], *, folder: Path) -> Environment:
    from components.model import load

    source = stack_file(name)
    raw = yaml.safe_load(source.read_text())
    change(raw["config"]["longhaul:environment"])
    for path in source.parent.iterdir():
        (folder / path.name).write_bytes(path.read_bytes()) if path.suffix == ".yaml" else None
    stack = folder / f"Pulumi.{name}.yaml"
    stack.write_text(yaml.safe_dump(raw, sort_keys=False))
    return load(stack)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", ["lab", "prod"])
def test_an_unrelated_change_leaves_user_data_alone(name: str, change: Callable[[dict], None], tmp_path: Path) -> None:
    before = {
        case.machine.name: user_data(case.environment, case.addresses, case.machine)
        for case in cases()
        if case.environment.name == name and case.environment.vpn is None
    }
    environment = changed(name, change, folder=tmp_path)
    addresses = plan(environment)
    after = {
        machine.name: user_data(environment, addresses, machine) for machine in control_machines(environment, addresses)
    }
    assert before.items() <= after.items()


def test_limits_of_disks_are_a_members_file_only_where_they_are_declared() -> None:
    """So that an environment from before there were limits keeps its machines."""
    named = "/etc/longhaul/disk-gate.json"
    found = {
        case.machine.name: files(case.environment, case.addresses, case.machine).get(named)
        for case in cases()
        if case.environment.control_plane.sync_limits or case.machine.role.is_etcd
    }
    told = {name: json.loads(file.content) for name, file in found.items() if file}
    assert all(limits == {"median_ms": 100, "p99_ms": 2000} for limits in told.values())
    assert {name for name in told if name.startswith("lab-")} == {
        f"lab-{part}-{n}" for part in ("etcd", "events") for n in range(3)
    }
    assert not any(name.startswith("prod-") for name in told)


def test_members_far_apart_wait_longer_and_others_have_etcd_s_own_times(tmp_path: Path) -> None:
    def far(raw: dict) -> None:
        raw["control_plane"]["round_trip_ms"] = 80

    environment = changed("lab", far, folder=tmp_path)
    addresses = plan(environment)
    told = {
        machine.name: files(environment, addresses, machine)["/etc/longhaul/etcd.env"].content
        for machine in control_machines(environment, addresses)
        if machine.role.is_etcd
    }
    assert all("\nETCD_HEARTBEAT_INTERVAL=120\nETCD_ELECTION_TIMEOUT=1200\n" in text for text in told.values())
    near = [files(case.environment, case.addresses, case.machine) for case in cases() if case.machine.role.is_etcd]
    assert not any("HEARTBEAT" in found["/etc/longhaul/etcd.env"].content for found in near)


def test_a_change_that_concerns_a_store_changes_its_members_alone(tmp_path: Path) -> None:
    def smaller(raw: dict) -> None:
        raw["control_plane"]["etcd"]["quota_gib"] = 4

    environment = changed("lab", smaller, folder=tmp_path)
    addresses = plan(environment)
    differing = {
        case.machine.name
        for case in cases()
        if case.environment.name == "lab"
        and user_data(environment, addresses, case.machine) != user_data(case.environment, case.addresses, case.machine)
    }
    assert differing == {"lab-etcd-0", "lab-etcd-1", "lab-etcd-2"}


# Content that user-data refuses.


def of_one_machine(files: dict[str, File]) -> UserData:
    case = cases()[0]
    site = case.environment.sites[case.machine.site]
    return UserData(name=case.machine.name, site=site, files=files, start="longhaul-etcd.target")


def test_a_secret_file_is_refused() -> None:
    with pytest.raises(UserDataError, match="/etc/key is secret"):
        cloud_config(of_one_machine({"/etc/key": File(content="x", secret=True)}))


def test_too_much_is_refused_with_both_sizes() -> None:
    with pytest.raises(UserDataError, match=r"user-data is \d+ bytes, azure takes 65535"):
        cloud_config(of_one_machine({"/etc/large": File(content="x" * 65000 + "\n" * 2000)}))


def test_racks_take_no_user_data() -> None:
    prod = [case for case in cases() if case.environment.name == "prod"]
    if not prod:
        pytest.skip("there is no environment prod")
    case = prod[0]
    rack = next(name for name, site in case.environment.sites.items() if site.kind == "onprem")
    with pytest.raises(UserDataError, match="takes no user-data"):
        user_data(case.environment, case.addresses, replace(case.machine, site=rack))


@pytest.mark.parametrize("value", ["a'b", 'a"b', "a\\b", "a\nb"])
def test_an_environment_file_holds_plain_values_only(value: str) -> None:
    with pytest.raises(ValueError, match="cannot be written plainly"):
        environment_file({"A": value})


@pytest.mark.parametrize("prefix", [19, 20])
def test_a_machine_is_told_of_no_more_members_than_its_subnet_has_addresses(prefix: int) -> None:
    raw = minimal()
    raw["sites"]["weu"]["prefix"] = prefix
    raw["control_plane"]["etcd"]["members"] = 5
    declared = environment(raw)
    addresses = plan(declared)
    for machine in control_machines(declared, addresses):
        node = json.loads(files(declared, addresses, machine)["/etc/longhaul/node.json"].content)
        for role, stores in node["stores"].items():
            assert len(stores) == {19: 7, 20: 5}[prefix]
            assert len(set(stores.values())) == len(stores)
            assert all(IPv4Address(one) in addresses.sites["weu"].subnet(role) for one in stores.values())
