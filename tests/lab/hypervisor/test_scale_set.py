"""An instance of a scale set as a real machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from tests.lab.cloud import sets
from tests.lab.cloud.conftest import IMAGE
from tests.lab.hypervisor.conftest import PROJECT, Lab, eventually

pytestmark = pytest.mark.lab

NAME = "lab-gpu-000000"
PLACE = """import sys; sys.path.insert(0, "/usr/local/lib/longhaul")
from machine.metadata import METADATA, azure, own_address
place = azure(METADATA, address=own_address())
print(place.name, place.provider_id, sum(one.num_addresses for one in place.pods), place.pods[0][0])"""


@pytest.fixture(name="lab", scope="module")
def _lab(make_lab: Callable[[str], Lab]) -> Lab:
    lab = make_lab("test-set")
    lab.start("--image", f"{IMAGE}={lab.rootfs}", "--cloud", "lab.cloud.app:LabClouds")
    return lab


def ask(lab: Lab, word: str) -> None:
    done = lab.enter(sys.executable, "-m", "tests.lab.hypervisor.scale_set_calls", word, cwd=PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr + lab.log()[-3000:]


def test_an_instance_boots_is_made_anew_and_goes(lab: Lab) -> None:
    ask(lab, "make")
    lab.await_phase("running", NAME)
    generation = lab.machine(NAME)["generation"]
    assert lab.inside(NAME, "hostname; ls /run/made").stdout.split() == [NAME, "/run/made"]

    name, provider, pods, first = lab.inside(NAME, f"python3 -c '{PLACE}'").stdout.split()
    assert (name, provider) == (NAME, f"azure://{sets.SET}/virtualMachines/0")
    assert int(pods) == sets.ADDRESSES - 1
    serve = f"systemd-run python3 -m http.server 8000 --bind {first} --directory /run"
    lab.inside(NAME, f"ip address add {first}/32 dev lo && {serve} && touch /var/kept")
    fetch = f"import urllib.request as u; print(u.urlopen('http://{first}:8000/made', timeout=10).status)"
    # The program may not listen yet.
    eventually(lambda: lab.enter(sys.executable, "-c", fetch).stdout == "200\n", what="a pod's address is delivered")

    ask(lab, "reimage")
    lab.await_phase("running", NAME)
    assert lab.machine(NAME)["generation"] != generation
    assert lab.inside(NAME, "ls /var/kept", check=False).returncode != 0
    instance = "curl -s -H Metadata:true '169.254.169.254/metadata/instance?api-version=2021-02-01'"
    shown = json.loads(lab.inside(NAME, instance).stdout)
    assert shown["compute"]["vmScaleSetName"] == "lab-gpu"

    ask(lab, "0")
    eventually(lambda: lab.machine(NAME)["phase"] == "absent", what="the machine is gone")
