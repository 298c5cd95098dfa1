"""A machine of the laptops' VPN boots with the files that the program gives it, under a real systemd, behind a public
address; a laptop connects to it, and reaches what is inside."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.hypervisor.conftest import DROPPED, Lab, curl, eventually, vain
from tests.lab.hypervisor.vpn_machine import DOOR, INSIDE, Doors, boot

pytestmark = pytest.mark.lab

UNITS = ("longhaul-vpn", "longhaul-vpn-filter", "longhaul-vpn-door", "longhaul-vpn-signer.socket")


@pytest.fixture(scope="module")
def doors(make_lab: Callable[[str], Lab], tmp_path_factory: pytest.TempPathFactory) -> Doors:
    return boot(make_lab("test-vpn"), tmp_path_factory.mktemp("vpn"))


def test_its_units_run(doors: Doors) -> None:
    words = f"systemctl is-active {' '.join(UNITS)}"
    eventually(
        lambda: doors.lab.inside(doors.own.name, words, check=False).stdout.split() == ["active"] * len(UNITS),
        what="the units are active",
        timeout_s=60,
    )


def test_a_laptop_connects_and_reaches_what_is_inside(doors: Doors) -> None:
    url = f"http://{doors.inside}:8000/"
    assert doors.run(vain(url)).returncode != 0
    with doors.connected():
        assert doors.run(curl(url)).stdout == f"{INSIDE} {doors.own.address}\n"


def test_strangers_reach_its_two_doors_alone(doors: Doors) -> None:
    assert doors.run(curl(f"https://{DOOR}/healthz", more=["--insecure"])).stdout.strip() == "{}"
    assert doors.run(vain(f"http://{DOOR}:22/")).returncode == DROPPED
    assert doors.lab.inside(INSIDE, vain(f"http://{doors.own.address}:22/"), check=False).returncode == DROPPED
    assert doors.lab.inside(INSIDE, vain(f"https://{doors.own.address}/"), check=False).returncode == DROPPED
