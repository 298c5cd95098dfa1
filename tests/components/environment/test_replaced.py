"""A field says what a change of its key replaces, as far as the declared resources tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from clouds.base.pool_section import Pool, Reservation, Taint
from clouds.base.replaces import Replaces
from components.azure.machines import REPLACED_BY
from components.model import Environment, Role, load
from components.model.control_plane.etcd import SyncLimits
from components.model.environment import PodSecurity
from components.model.policy.replacement_lookup import replaced_by
from tests.support.declared import Declared, Program
from tests.support.hosts import stack_file
from tests.support.whole import declare_whole, with_few_machines

GROUPS = ("azure-native:compute:VirtualMachineScaleSet", "aws:ec2/launchTemplate:LaunchTemplate")
MACHINE = "azure-native:compute:VirtualMachine"

OTHER: Mapping[str, Any] = {
    "machine_type": {"use1": "p5e.48xlarge", "weu": "Standard_D8s_v5"},
    "min": 1,
    "max": 5,
    "spare": 1,
    "labels": {"team": "b"},
    "taints": (Taint(key="example.com/a", effect="NoSchedule"),),
    "startup_taints": (Taint(key="example.com/agent-not-ready", effect="NoSchedule"),),
    "spot": True,
    "reservation": Reservation(id="cr-0123456789abcdef0"),
    "efa": {"use1": True},
    "system_disk_gib": 512,
    "deletion_notice_min": {"weu": 7},
    "priority": 7,
    "fallbacks": ("base",),
    "idle_minutes": 7,
    "join_minutes": 7,
    "huge_pages_gib": 2,
    "gpu_check": ("/bin/true",),
    "placement_group": {},
}
"""Another value of each of a pool's fields, for each site where there is a difference. A placement group is a resource
of its own."""


def pool_cases() -> Iterator[tuple[str, str, Any]]:
    for key, value in OTHER.items():
        values = value if isinstance(value, dict) and key != "labels" else {"use1": value, "weu": value}
        yield from ((key, site, other) for site, other in values.items())


def pools(*, changed: bool) -> dict[str, Pool]:
    """Return a pool for each field and site, as like each other as names allow, each with its own field changed."""
    types = {"use1": "p5.48xlarge", "weu": "Standard_D4s_v5"}
    found = {"base": Pool(site="use1", machine_type=types["use1"], max=2)}
    for key, site, other in pool_cases():
        pool = Pool(site=site, machine_type=types[site], max=4)
        found[f"{site}-{key.replace('_', '')}"[:20]] = pool.model_copy(update={key: other}) if changed else pool
    return found


def shown(resource: Declared) -> dict[str, Any]:
    """Return what a group's new machines have: all but its size."""
    inputs = dict(resource.inputs)
    if "sku" in inputs:
        inputs["sku"] = {**inputs["sku"], "capacity": None}
    return inputs


def templates(environment: Environment) -> dict[str, dict[str, Any]]:
    program = declare_whole(environment)
    return {one.name: shown(one) for type_ in GROUPS for one in program.of(type_)}


@pytest.fixture(scope="module")
def prod() -> Environment:
    """The two sites that have the pools of these tests; the control plane is in one of them."""
    example = with_few_machines(load(stack_file("prod")))
    sites = {name: example.sites[name] for name in ("use1", "weu")}
    return example.model_copy(update={"sites": sites, "hosts": ()})


def test_every_field_of_a_pool_is_looked_at() -> None:
    unknown = {name for name, field in Pool.model_fields.items() if Replaces.STATE in field.metadata}
    assert set(OTHER) == set(Pool.model_fields) - unknown


def test_a_pool_s_new_machines_differ_by_what_its_fields_say(prod: Environment) -> None:
    before, after = (templates(prod.model_copy(update={"pools": pools(changed=changed)})) for changed in (False, True))
    assert before.keys() == after.keys()
    differing = {name for name in before if before[name] != after[name]}
    for key, site, _ in pool_cases():
        name = f"prod-{site}-{key.replace('_', '')}"[: len("prod-") + 20]
        found = any(other.startswith(f"{name}-") for other in differing)
        says = Replaces.NEW_NODES in next(m for m in Pool.model_fields[key].metadata if isinstance(m, Replaces))
        assert (key, site, found) == (key, site, says)


def at(inputs: Mapping[str, Any], path: str) -> Any:
    value: Any = inputs
    for part in path.split("."):
        value = (value or {}).get(part)
    return value


def machines(program: Program) -> dict[str, list[Any]]:
    """Return what makes each machine anew, by its name."""
    return {one.name: [at(one.inputs, path) for path in REPLACED_BY] for one in program.of(MACHINE)}


def with_values(section: Any, path: str, value: Any) -> Any:
    key, _, rest = path.partition(".")
    if isinstance(section, dict):
        return {**section, key: with_values(section[key], rest, value)}
    return section.model_copy(update={key: with_values(getattr(section, key), rest, value) if rest else value})


@pytest.fixture(scope="module")
def small(prod: Environment) -> Environment:
    site = prod.control_plane.site
    return prod.model_copy(update={"sites": {site: prod.sites[site]}, "pools": {}})


@pytest.fixture(scope="module")
def before(small: Environment) -> dict[str, list[Any]]:
    """The properties that make each machine of the environment anew, before any change of it."""
    return machines(declare_whole(small))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("control_plane.etcd.machine_type", "Standard_L32s_v3"),
        ("control_plane.events.quota_gib", 4),
        ("control_plane.api.machine_type", "Standard_D16s_v5"),
        ("control_plane.sync_limits", SyncLimits(median_ms=1, p99_ms=3)),
        ("pod_security", PodSecurity(exempt_namespaces=("monitoring",))),
        ("queues", True),
        ("sites.weu.image", "/subscriptions/s/other"),
        ("tags", {"owner": "else"}),
    ],
)
def test_the_control_plane_s_machines_that_are_made_anew_are_those_of_the_field(
    small: Environment, before: dict[str, list[Any]], path: str, value: Any
) -> None:
    after = machines(declare_whole(with_values(small, path, value)))
    anew = {role for role in Role for name in before if f"-{role}-" in name and before[name] != after[name]}
    says = replaced_by(small, path)
    named = {role for role in Role if role in path.split(".")} if Replaces.ROLE in says else set()
    there = {role for role in Role for name in before if f"-{role}-" in name}
    assert anew == ({role for role in Role if Replaces[role.name] in says} | named) & there
