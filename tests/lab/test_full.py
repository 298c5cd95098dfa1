"""Parts of `make lab ENV=full` that need no lab: its company, its GPUs, and its room."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from components.model import load, plan
from lab import hosts, inotify, project
from lab.hypervisor import seed
from lab.nvml import hardware
from lab.oidc import company, person
from lab.oidc.company import has_company
from tests.support.project import REPOSITORY

FULL, LAB = (load(REPOSITORY / "stacks" / f"Pulumi.{env}.yaml") for env in ("full", "lab"))
LINUX = 128
"""Inotify instances that Linux gives a user (fs/notify/inotify/inotify_user.c, ``init_user_ns``)."""


def test_its_people_are_the_company_s_and_each_is_in_a_team() -> None:
    assert (has_company(FULL), has_company(LAB)) == (True, False)
    groups = {group for team in FULL.teams.values() for group in team.groups}
    assert {f"corp:{group}" for claims in company.PEOPLE.values() for group in claims["groups"]} == groups


def test_a_browser_without_a_person_says_who_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in person.variables(company.AUTHORITY, company.PEOPLE).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(person.PERSON_VARIABLE, raising=False)
    assert person.main(str(company.AUTHORITY), "", "https://nowhere.example") == 2
    assert "LONGHAUL_LAB_PERSON=NAME says who signs in, one of: ada, ben" in capsys.readouterr().err
    monkeypatch.setenv(person.PERSON_VARIABLE, "eve")
    assert person.main(str(company.AUTHORITY), "", "https://nowhere.example") == 2
    assert "the company has no 'eve'" in capsys.readouterr().err


def test_python_s_webbrowser_takes_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    command = person.variables(company.AUTHORITY, company.PEOPLE)["BROWSER"]
    browser = webbrowser.get(command)
    assert isinstance(browser, webbrowser.BackgroundBrowser)
    assert browser.args[-3:] == [str(company.AUTHORITY), "", "%s"]


def test_its_host_alone_has_stand_ins_for_gpus() -> None:
    def gpus(environment: object) -> dict[str, int]:
        assert isinstance(environment, type(FULL))
        world = hosts.hosts_world(environment, plan(environment), authorized_key="ssh-ed25519 AAAA")
        return {machine.name: machine.gpus for machine in world.machines}

    assert gpus(FULL) == {"full-gw-0": 0, "full-node-0": 2}
    assert set(gpus(LAB).values()) == {0}


def test_a_machine_with_gpus_has_their_driver_s_files(tmp_path: Path) -> None:
    libraries = tmp_path / "image" / "usr" / "lib" / hardware.multiarch()
    libraries.mkdir(parents=True)
    (libraries / "libutil.so.1").write_bytes(b"any")
    (tmp_path / "nvml.so").write_bytes(b"stand-in")
    world = hosts.hosts_world(FULL, plan(FULL), authorized_key="ssh-ed25519 AAAA")
    (machine,) = [machine for machine in world.machines if machine.gpus]
    upper = tmp_path / "upper"
    seed.write(machine=machine, upper=upper, image=tmp_path / "image", ca=b"", gpu_library=tmp_path / "nvml.so")
    folder = upper / "usr" / "lib" / hardware.multiarch()
    assert (folder / "libnvidia-ml.so.1").read_bytes() == b"stand-in"
    assert (upper / hardware.FOLDER.lstrip("/") / "machine").read_text().count("\ngpu\n") == machine.gpus
    assert "0000:19:00.0" in (upper / "usr/local/lib/lab-hardware").read_text()


def test_the_autoscaler_s_two_machines_have_room_in_linux_s_limit() -> None:
    assert project.watchers(FULL) + 2 * (inotify.MACHINE + inotify.NODE) < LINUX
