"""Role packages on a host whose dpkg was interrupted. dpkg is real, with a root of its own, and nothing is left for apt
to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.playbooks.test_scripts import ROLES, program

CONTROL = """\
Package: {name}
Status: install ok {state}
Version: 1
Architecture: all
Maintainer: Somebody <somebody@example.org>
Description: of no use
"""


class Host:
    """A root with packages, whose scripts record that they ran."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "root"
        self.dpkg = self.root / "var/lib/dpkg"
        for name in ("updates", "info", "triggers"):
            (self.dpkg / name).mkdir(parents=True)
        (self.dpkg / "status").touch()
        self.tools = folder / "tools"
        self.tools.mkdir()
        options = f"--root={self.root} --force-not-root --force-script-chrootless --log=/dev/null"
        program(self.tools, "dpkg", f'exec /usr/bin/dpkg {options} "$@"')
        program(self.tools, "dpkg-query", f'exec /usr/bin/dpkg-query --root={self.root} "$@"')
        self.changed: list[int] = []
        """Number of tasks that changed something, in each run."""

    def has(self, name: str, state: str, *, journal: str = "") -> None:
        """Add a package in a state; ``journal`` is its later state in dpkg's journal."""
        with (self.dpkg / "status").open("a") as file:
            file.write(CONTROL.format(name=name, state=state) + "\n")
        (self.dpkg / f"info/{name}.list").write_text("/.\n")
        program(self.dpkg / "info", f"{name}.postinst", f'echo "$1" >>{self.folder}/{name}.ran; exit 0')
        if journal:
            (self.dpkg / "updates/0000").write_text(CONTROL.format(name=name, state=journal))

    def state(self, name: str) -> str:
        """Return dpkg's state of a package."""
        argv = [str(self.tools / "dpkg-query"), "--show", "--showformat=${db:Status-Status}", name]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def play(folder: Path, hosts: dict[str, Host]) -> None:
    """Run the role on the hosts, and note for each the number of tasks that changed something. Any work for apt is a
    failure."""
    role = folder / "roles" / "packages"
    if not role.exists():
        role.mkdir(parents=True)
        (folder / "callback_plugins").symlink_to(ROLES.parent / "callback_plugins")
        for part in ("defaults", "meta", "vars", "tasks", "files"):
            (role / part).mkdir()
            for source in (ROLES / "packages" / part).iterdir():
                text = source.read_text().replace("ansible.builtin.apt:", "ansible.builtin.fail:")
                # Ansible gives a raw command no environment: the host's folder stands in the command.
                text = text.replace("sh -s --", "PATH={{ tools }}:$PATH ROOT={{ root }} sh -s --")
                text = text.replace("argv: [dpkg,", "argv: ['{{ tools }}/dpkg',")
                (role / part / source.name).write_text(text.replace("/var/lib/dpkg", "$ROOT/var/lib/dpkg"))
    variables = {
        "packages_names": ["thing"],
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
    }
    folders = {name: {"root": str(host.root), "tools": str(host.tools)} for name, host in hosts.items()}
    (folder / "inventory.json").write_text(json.dumps({"all": {"hosts": folders, "vars": variables}}))
    roles = [{"role": "packages", "tags": ["packages"]}]
    (folder / "play.json").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "roles": roles}]))
    verdicts = folder / "verdicts.json"
    environ = {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "LONGHAUL_VERDICTS": str(verdicts),
        "ANSIBLE_CONFIG": str(ROLES.parent / "ansible.cfg"),
        # The roles that it depends on, behind the copy of its own.
        "ANSIBLE_ROLES_PATH": f"{folder / 'roles'}:{ROLES}",
        "ANSIBLE_LOOKUP_PLUGINS": str(ROLES.parent / "lookup_plugins"),
        "ANSIBLE_FILTER_PLUGINS": str(ROLES.parent / "filter_plugins"),
    }
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    argv = [ansible, "--inventory", str(folder / "inventory.json"), "--tags", "packages", str(folder / "play.json")]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, verdict in json.loads(verdicts.read_text())["hosts"].items():
        hosts[name].changed.append(verdict["changed"])


BROKEN_OFF = [("unpacked", ""), ("half-configured", ""), ("unpacked", "half-configured"), ("not-installed", "unpacked")]
"""States of a package, and its later states in dpkg's journal."""


@pytest.fixture(name="hosts", scope="module")
def _hosts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Host]:
    """Hosts for every test, on which the role ran twice."""
    folder = tmp_path_factory.mktemp("packages")
    names = [f"{state}-{journal}" for state, journal in BROKEN_OFF]
    hosts = {name: Host(folder / name) for name in (*names, "journal", "left")}
    for name, (state, journal) in zip(names, BROKEN_OFF, strict=True):
        hosts[name].has("thing", state, journal=journal)
    for name, state, journal in (("journal", "unpacked", "half-configured"), ("left", "half-configured", "")):
        hosts[name].has("thing", "installed")
        hosts[name].has("other", state, journal=journal)
    for _ in range(2):
        play(folder, hosts)
    return hosts


@pytest.mark.parametrize(("state", "journal"), BROKEN_OFF)
def test_what_dpkg_was_doing_is_finished_once(hosts: dict[str, Host], state: str, journal: str) -> None:
    host = hosts[f"{state}-{journal}"]
    assert host.changed == [1, 0]
    assert host.state("thing") == "installed"
    assert (host.folder / "thing.ran").read_text() == "configure\n"
    assert list((host.dpkg / "updates").iterdir()) == []


def test_a_journal_is_in_the_way_whatever_it_is_of(hosts: dict[str, Host]) -> None:
    assert hosts["journal"].changed == [1, 0]
    assert hosts["journal"].state("other") == "installed"


def test_what_somebody_else_left_is_no_matter_where_all_is_there(hosts: dict[str, Host]) -> None:
    assert hosts["left"].changed == [0, 0]
    assert hosts["left"].state("other") == "half-configured"
