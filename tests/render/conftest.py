"""Test cases from the environments of ``stacks/``, and the example of production."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from components.model import AddressPlan, Environment, Machine, Role, control_machines, load, plan
from components.model.control_plane.machines import members
from components.model.vpn.section import Vpn
from components.render import File, host_files, join_kubeconfig, pool_files, pool_user_data
from contract.documents.join_kubeconfig import PATH as JOIN
from tests.support.hosts import STACKS, stack_file


@dataclass(frozen=True, kw_only=True)
class Case:
    """One machine of one stack file."""

    environment: Environment
    addresses: AddressPlan
    machine: Machine


def cases() -> list[Case]:
    """Return every control-plane machine of every stack file, and those of the laptops' VPN that the lab does not
    have."""
    found = [
        Case(environment=environment, addresses=addresses, machine=machine)
        for environment, addresses in environments()
        for machine in control_machines(environment, addresses)
    ]
    lab = next(case for case in found if case.environment.name == "lab")
    own = lab.environment.model_copy(update={"vpn": Vpn(machine_type="Standard_D2s_v5")})
    machines = members(control_machines(own, lab.addresses), Role.VPN)
    return [*found, *(Case(environment=own, addresses=lab.addresses, machine=one) for one in machines)]


def environments() -> Iterator[tuple[Environment, AddressPlan]]:
    """Yield every environment with its plan, except ``full``, whose machines differ from those of the others by the
    numbers and names in their files."""
    for path in sorted((*STACKS.glob("Pulumi.*.yaml"), stack_file("prod")), key=lambda path: path.name):
        if not path.stem.endswith("-objects") and path.stem != "Pulumi.full":
            environment = load(path)
            yield environment, plan(environment)


AUTHORITY = "-----BEGIN CERTIFICATE-----\n[authority]\n-----END CERTIFICATE-----\n"
TOKEN = "abcdef.0123456789abcdef"


@dataclass(frozen=True, kw_only=True)
class NodeCase:
    """A pool, or a host, of one stack file."""

    environment: Environment
    addresses: AddressPlan
    pool: str | None = None
    host: str | None = None

    @property
    def name(self) -> str:
        return f"{self.environment.name}-{self.pool or self.host}"

    def files(self) -> dict[str, File]:
        if self.pool is not None:
            return pool_files(self.environment, self.addresses, self.pool, kubernetes_ca=AUTHORITY)
        found = host_files(self.environment, self.addresses, self.host or "", kubernetes_ca=AUTHORITY)
        return {**found, JOIN: join_kubeconfig(self.environment, self.addresses, token=TOKEN)}

    def user_data(self) -> str | None:
        """Return the pool's user data; None for a host, which has none."""
        if self.pool is None:
            return None
        return pool_user_data(self.environment, self.addresses, self.pool, kubernetes_ca=AUTHORITY)


def node_cases() -> list[NodeCase]:
    """Return every pool of every stack file, and the first host of each of its racks."""
    found = []
    for environment, addresses in environments():
        shared: dict[str, Any] = {"environment": environment, "addresses": addresses}
        found += [NodeCase(**shared, pool=name) for name in environment.pools]
        first = {host.site: host.name for host in reversed(environment.hosts)}
        found += [NodeCase(**shared, host=name) for name in first.values()]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases(), ids=lambda case: case.machine.name)
    if "node" in metafunc.fixturenames:
        metafunc.parametrize("node", node_cases(), ids=lambda node: node.name)
