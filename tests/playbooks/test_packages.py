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

    def play(self, *names: str) -> int:
        """Run the role and return the number of tasks that changed something. Any work for apt is a failure."""
        role = self.folder / "roles" / "packages"
        if not role.exists():
            role.mkdir(parents=True)
            (self.folder / "callback_plugins").symlink_to(ROLES.parent / "callback_plugins")
            for part in ("defaults", "meta", "vars", "tasks", "files"):
                (role / part).mkdir()
                for source in (ROLES / "packages" / part).iterdir():
                    text = source.read_text().replace("/var/lib/dpkg", str(self.dpkg))
                    (role / part / source.name).write_text(
                        text.replace("ansible.builtin.apt:", "ansible.builtin.fail:")
                    )
        variables = {"packages_names": list(names), "ansible_python_interpreter": sys.executable}
        play = [
            {
                "hosts": "localhost",
                "connection": "local",
                "gather_facts": False,
                "roles": [{"role": "packages", "tags": ["packages"]}],
            }
        ]
        (self.folder / "play.json").write_text(json.dumps([{**play[0], "vars": variables}]))
        verdicts = self.folder / "verdicts.json"
        environ = {
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "LC_ALL": "C.UTF-8",
            "LONGHAUL_VERDICTS": str(verdicts),
            # The roles that it depends on, behind the copy of its own.
            "ANSIBLE_ROLES_PATH": f"{self.folder / 'roles'}:{ROLES}",
            "ANSIBLE_LOOKUP_PLUGINS": str(ROLES.parent / "lookup_plugins"),
            "ANSIBLE_FILTER_PLUGINS": str(ROLES.parent / "filter_plugins"),
        }
        ansible = str(Path(sys.executable).with_name("ansible-playbook"))
        argv = [ansible, "--inventory", "localhost,", "--tags", "packages", str(self.folder / "play.json")]
        done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False, cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return int(json.loads(verdicts.read_text())["hosts"]["localhost"]["changed"])


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> Host:
    return Host(tmp_path)


@pytest.mark.parametrize(
    ("state", "journal"),
    [("unpacked", ""), ("half-configured", ""), ("unpacked", "half-configured"), ("not-installed", "unpacked")],
)
def test_what_dpkg_was_doing_is_finished_once(host: Host, state: str, journal: str) -> None:
    host.has("thing", state, journal=journal)
    assert host.play("thing") == 1
    assert host.state("thing") == "installed"
    assert (host.folder / "thing.ran").read_text() == "configure\n"
    assert list((host.dpkg / "updates").iterdir()) == []
    assert host.play("thing") == 0


def test_a_journal_is_in_the_way_whatever_it_is_of(host: Host) -> None:
    host.has("thing", "installed")
    host.has("other", "unpacked", journal="half-configured")
    assert host.play("thing") == 1
    assert host.state("other") == "installed"


def test_what_somebody_else_left_is_no_matter_where_all_is_there(host: Host) -> None:
    host.has("thing", "installed")
    host.has("other", "half-configured")
    assert host.play("thing") == 0
    assert host.state("other") == "half-configured"
