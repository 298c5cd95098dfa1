"""The environments of ``stacks/``, and the switch that writes golden files anew."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from components.model import AddressPlan, Environment, Machine, control_machines, load, plan

STACKS = Path(__file__).parents[2] / "stacks"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One machine of one stack file."""

    environment: Environment
    addresses: AddressPlan
    machine: Machine


def cases() -> list[Case]:
    """Every control-plane machine of every stack file."""
    found = []
    for path in sorted(STACKS.glob("Pulumi.*.yaml")):
        environment = load(path)
        addresses = plan(environment)
        found += [
            Case(environment=environment, addresses=addresses, machine=machine)
            for machine in control_machines(environment, addresses)
        ]
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/render/golden anew")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases(), ids=lambda case: case.machine.name)
