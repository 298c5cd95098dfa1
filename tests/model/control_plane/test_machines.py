"""The control plane's machines: names, places, addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.model import Environment, Role, control_machines, plan
from components.model.control_plane.machines import members
from tests.model import make

STORES = st.sampled_from([1, 3, 5, 7])


@st.composite
def environments(draw: st.DrawFn) -> Environment:
    """Draw environments with any allowed control plane and any name."""
    raw = make.minimal()
    name = draw(
        st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,9})?", fullmatch=True).filter(lambda text: len(text) <= 20)
    )
    raw["name"] = name
    raw["sites"]["weu"]["zones"] = draw(st.lists(st.sampled_from("123456789"), min_size=1, max_size=4, unique=True))
    raw["sites"]["weu"]["prefix"] = draw(st.integers(13, 19))
    raw["control_plane"]["etcd"]["members"] = draw(STORES)
    raw["control_plane"]["events"]["members"] = draw(STORES)
    raw["control_plane"]["api"]["servers"] = draw(st.integers(1, 15))
    return Environment.model_validate(raw)


def names_and_addresses_are_nobody_elses(environment: Environment) -> None:
    machines = control_machines(environment, plan(environment))
    assert len({machine.name for machine in machines}) == len(machines)
    assert len({machine.address for machine in machines}) == len(machines)
    for machine in machines:
        assert machine.name == f"{environment.name}-{machine.role}-{machine.index}"
        assert machine.fqdn == f"{machine.name}.{environment.domain}"
        # RFC 1035: at most 63 characters in a label.
        assert len(machine.name) <= 63


def there_are_as_many_as_were_asked_for(environment: Environment) -> None:
    machines = control_machines(environment, plan(environment))
    control = environment.control_plane
    counts = {Role.ETCD: control.etcd.members, Role.EVENTS: control.events.members, Role.API: control.api.servers}
    types = {role: getattr(control, role).machine_type for role in counts}
    for role, count in counts.items():
        of_role = members(machines, role)
        assert [machine.index for machine in of_role] == list(range(count))
        assert {machine.machine_type for machine in of_role} == {types[role]}


def each_is_in_its_roles_subnet_and_the_zones_take_turns(environment: Environment) -> None:
    addresses = plan(environment)
    site = addresses.sites["weu"]
    zones = environment.sites["weu"].zones  # type: ignore[union-attr]
    for machine in control_machines(environment, addresses):
        assert machine.address in site.subnet(machine.role)
        assert machine.site == "weu"
        assert machine.zone == zones[machine.index % len(zones)]


@given(environments())
def test_the_machines_of_any_environment(environment: Environment) -> None:
    names_and_addresses_are_nobody_elses(environment)
    there_are_as_many_as_were_asked_for(environment)
    each_is_in_its_roles_subnet_and_the_zones_take_turns(environment)


def test_the_stores_are_made_first() -> None:
    environment = make.environment()
    roles = [machine.role for machine in control_machines(environment, plan(environment))]
    assert roles == [Role.ETCD] * 3 + [Role.EVENTS] + [Role.API] * 2
    assert [role.is_etcd for role in Role] == [True, True, False, False]


@pytest.mark.parametrize("name", ["Standard_L8s_v3", "Huge"])
def test_machine_types_are_built_in_or_declared(name: str) -> None:
    raw = make.minimal()
    raw["machine_types"] = {"Huge": {"cloud": "azure", "vcpus": 2, "memory_gib": 4}}
    assert make.environment(raw).machine_type(name).cloud == "azure"


def test_a_machine_type_that_nobody_knows() -> None:
    with pytest.raises(KeyError):
        make.environment().machine_type("Huge")


def test_a_declared_machine_type_stands_before_the_built_in_one() -> None:
    raw = make.minimal()
    raw["machine_types"] = {"Standard_L8s_v3": {"cloud": "azure", "vcpus": 1, "memory_gib": 1, "local_ssd_gb": 70}}
    assert make.environment(raw).machine_type("Standard_L8s_v3").local_ssd_gb == 70
