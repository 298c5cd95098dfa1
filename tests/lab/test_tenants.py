"""Choice of the lab that an environment is in, and the separation of tenants."""

from __future__ import annotations

import os
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest

from components.model import load
from lab import control, project
from lab.config import LabConfig
from lab.hypervisor.addresses import AddressRanges
from lab.hypervisor.networks import Networks, operator_of
from lab.project import LabProject, RootParts
from lab.state import InitRecord, LabError, LabState, running_init
from lab.tenant_leave import leave
from lab.tenants import check_apart, check_fits, host_of, lab_to_join, renew, take_in, tenants_of
from tests.lab.hypervisor.conftest import network_one
from tests.support.project import REPOSITORY, Project, hybrid

CONFIG = LabConfig(
    rootfs="/images/node",
    supernet="10.64.0.0/12",
    operators="10.79.255.0/24",
    port=21001,
    regions=("us-east-1",),
    images={"ami-1": "/images/node"},
)
TENANT = replace(CONFIG, supernet="10.80.0.0/12", beside="lab", operator_public="198.51.100.3", port=21002)


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> LabState:
    """A lab whose process 1 is this process."""
    state = LabState.of("lab", root=tmp_path)
    state.create()
    CONFIG.write(state)
    InitRecord.of(os.getpid(), port=CONFIG.port).write(state)
    return state


@pytest.fixture(name="tenant")
def _tenant(host: LabState) -> LabState:
    state = LabState(root=host.root, env="twin")
    record = running_init(host)
    assert record is not None
    take_in(state, TENANT, record)
    return state


def test_who_comes_while_a_lab_runs_is_in_that_lab(host: LabState) -> None:
    assert lab_to_join(LabState(root=host.root, env="twin")) == "lab"
    assert lab_to_join(host) == ""


def test_who_comes_when_none_runs_has_a_lab_of_its_own(host: LabState) -> None:
    host.init_file.unlink()
    assert lab_to_join(LabState(root=host.root, env="twin")) == ""


def test_who_was_in_a_lab_stays_in_it_whether_it_runs_or_not(host: LabState, tenant: LabState) -> None:
    host.init_file.unlink()
    tenant.init_file.unlink()
    assert lab_to_join(tenant) == "lab"


def test_a_lab_is_joined_where_it_is_and_not_by_way_of_a_tenant(tenant: LabState) -> None:
    assert lab_to_join(LabState(root=tenant.root, env="another")) == "lab"


def test_a_lab_knows_its_tenants(host: LabState, tenant: LabState) -> None:
    assert tenants_of(host) == (tenant,)
    assert tenants_of(tenant) == ()
    assert (host_of(tenant), host_of(host)) == (host, host)


def test_a_tenant_lives_as_long_as_its_lab(host: LabState, tenant: LabState) -> None:
    ours = running_init(tenant)
    assert ours is not None
    assert (ours.pid, ours.port) == (os.getpid(), TENANT.port)
    gone = InitRecord(pid=ours.pid, started=ours.started + 1, boot_id=ours.boot_id, port=CONFIG.port)
    renew(tenant, gone, port=TENANT.port)
    assert running_init(tenant) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"regions": ("us-east-1", "us-west-2")}, "no region us-west-2"),
        ({"images": {"ami-2": "/images/node"}}, "no image ami-2"),
        ({"depot": "/depot-with-gpus"}, "another depot"),
        ({"rootfs": "/images/later", "gateway_rootfs": "/images/gateway"}, "another rootfs, gateway_rootfs"),
    ],
)
def test_what_the_lab_lacks_for_a_tenant_is_said(change: dict[str, Any], said: str) -> None:
    check_fits(TENANT, CONFIG, env="twin")
    with pytest.raises(LabError, match=said) as refused:
        check_fits(replace(TENANT, **change), CONFIG, env="twin")
    assert "make lab-down ENV=lab" in str(refused.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"supernet": "10.72.0.0/13"}, "overlaps lab's 10.64.0.0/12"),
        ({"operator_public": "198.51.100.2"}, "operators of twin and lab are both at 198.51.100.2"),
    ],
)
def test_a_tenant_that_is_in_somebody_s_way_is_refused(change: dict[str, Any], said: str) -> None:
    check_apart(TENANT, {"lab": CONFIG}, env="twin")
    with pytest.raises(LabError, match=said):
        check_apart(replace(TENANT, **change), {"lab": CONFIG}, env="twin")


def test_an_operator_is_nowhere_but_in_its_place() -> None:
    with pytest.raises(LabError, match=r"198\.51\.100\.2 to 198\.51\.100\.9"):
        replace(CONFIG, operator_public="198.51.100.10").plan()


def test_a_network_belongs_to_the_environment_whose_range_it_is_in() -> None:
    own = AddressRanges(supernet=IPv4Network("10.0.0.0/16"), operators=IPv4Network("10.0.255.0/24"))
    theirs = AddressRanges(supernet=IPv4Network("10.1.0.0/16"), operators=IPv4Network("10.1.255.0/24"), tenant="twin")
    networks = Networks(own)
    assert networks.plan_of(network_one()) == own
    networks.tenants["twin"] = theirs
    assert networks.plan_of(network_one()) == theirs
    assert operator_of(own) != operator_of(theirs)


def test_a_tenant_that_leaves_ends_nobody_else_s_process(
    host: LabState, tenant: LabState, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []
    seen: list[bool] = []

    def request(state: LabState, method: str, path: str) -> dict[str, Any]:
        asked.append((state.env, f"{method} {path}"))
        seen.append(tenant.init_file.exists() or tenant.config_file.exists())
        return {}

    monkeypatch.setattr(control, "request", request)
    leave(tenant)
    assert asked == [("lab", "POST /refresh")]
    assert seen == [False], "the daemon would take it for a tenant still"
    assert running_init(tenant) is None
    assert running_init(host) is not None


def test_a_lab_of_its_own_has_nobody_to_leave(host: LabState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "request", lambda *_: pytest.fail("nobody is to be asked"))
    leave(host)
    assert host.init_file.exists()


def _configured(path: Path, raw: dict[str, Any]) -> LabConfig:
    made = Project.make(path, raw)
    running = LabState.of("lab", root=path / ".lab")
    running.create()
    CONFIG.write(running)
    InitRecord.of(os.getpid(), port=CONFIG.port).write(running)
    chosen = LabProject(path=path, env=raw["name"])
    parts = RootParts(node=Path("/images/node"), tools=Path("/tools"))
    return project.config(load(made.stack_file), chosen, parts)


def test_the_twin_is_beside_the_lab(tmp_path: Path) -> None:
    raw = Project(path=REPOSITORY, env="twin").read()
    found = _configured(tmp_path, raw)
    assert found.beside == "lab"
    assert found.plan("twin").public == IPv4Address("198.51.100.3")
    lab = load(REPOSITORY / "stacks" / "Pulumi.lab.yaml")
    assert not found.plan().supernet.overlaps(lab.supernet)


def test_the_lab_has_racks_for_its_own_environment_alone(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="not for rack"):
        _configured(tmp_path, hybrid("twin", supernet="10.80.0.0/12"))


def _second(path: Path, machine_type: str) -> None:
    """Look whether the twin, with machines of this type, can be a second environment beside the running lab."""
    first = Project.make(path, hybrid("lab", supernet="10.64.0.0/12"))
    parts = RootParts(node=Path("/images/node"), depot=Path("/depot"), tools=Path("/tools"))
    running = LabState.of("lab", root=path / ".lab")
    running.create()
    project.config(load(first.stack_file), LabProject(path=path, env="lab"), parts).write(running)
    InitRecord.of(os.getpid(), port=CONFIG.port).write(running)
    raw = Project(path=REPOSITORY, env="twin").read()
    for pool in raw["pools"].values():
        pool["machine_type"] = machine_type
    twin = Project(path=path, env="twin")
    twin.write(raw)
    project.check_second(load(twin.stack_file), LabProject(path=path, env="twin"))


def test_a_second_environment_that_needs_another_depot_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="it has GPUs, unlike lab, and so needs another depot"):
        _second(tmp_path, "g5.xlarge")


def test_a_second_environment_that_the_lab_can_hold_is_not(tmp_path: Path) -> None:
    _second(tmp_path, "m6id.xlarge")


def test_both_have_inotify_instances_enough_of_linux_s_128() -> None:
    """Linux gives a user 128 (fs/notify/inotify/inotify_user.c, ``init_user_ns``)."""
    wanted = [project.watchers(load(REPOSITORY / "stacks" / f"Pulumi.{env}.yaml")) for env in ("lab", "twin")]
    assert sum(wanted) <= 128, wanted
