"""Role upgrades_off on a folder: what apt, systemd and needrestart themselves read there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.playbooks.test_scripts import ROLES, program, sh

UNITS = ("apt-daily.timer", "apt-daily-upgrade.timer", "unattended-upgrades.service")
UBUNTUS = (
    "apt-news.service",
    "esm-cache.service",
    "motd-news.timer",
    "snapd.snap-repair.timer",
    "ua-timer.timer",
    "ubuntu-advantage.service",
    "update-notifier-download.timer",
    "update-notifier-motd.timer",
)
"""Units that Ubuntu 24.04 has besides: of motd-news-config, snapd, ubuntu-pro-client, update-notifier-common
(tests/lab/test_image_ubuntu.py looks at the packages themselves)."""


@pytest.fixture(name="root", scope="module")
def _root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after the role ran, as on a host of Ubuntu that had its own settings."""
    root = tmp_path_factory.mktemp("host") / "root"
    (root / "etc/apt/apt.conf.d").mkdir(parents=True)
    (root / "etc/apt/apt.conf.d/20auto-upgrades").write_text('APT::Periodic::Unattended-Upgrade "1";\n')
    units = root / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for unit in (*UNITS, *UBUNTUS):
        (units / unit).write_text("[Install]\nWantedBy=timers.target\n")
    assert play(root) > 0
    return root


STAND_IN = """\
- name: Note what it would stop
  listen: upgrades turned off
  copy: {dest: "{{ playbook_dir }}/units", content: "{{ upgrades_off_units | join(' ') }}"}
"""


def play(root: Path) -> int:
    """Run the role without its handler and return the number of tasks that changed something."""
    folder = root.parent
    role = folder / "roles" / "upgrades_off"
    if not role.exists():
        shutil.copytree(ROLES / "upgrades_off", role, symlinks=True)
        # It would stop this machine's units.
        (role / "handlers/main.yml").write_text(STAND_IN)
        for name in ("callback_plugins", "lookup_plugins"):
            (folder / name).symlink_to(ROLES.parent / name)
    variables = {"upgrades_off_root": str(root), "ansible_python_interpreter": sys.executable}
    own = {"hosts": "localhost", "connection": "local", "gather_facts": False, "roles": ["upgrades_off"]}
    (folder / "play.json").write_text(json.dumps([{**own, "vars": variables}]))
    verdicts = folder / "verdicts.json"
    environ = {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROLES.parents[1]),
        "LONGHAUL_VERDICTS": str(verdicts),
    }
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    argv = [ansible, "--inventory", "localhost,", str(folder / "play.json")]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(json.loads(verdicts.read_text())["hosts"]["localhost"]["changed"])


def output(*argv: str, **environ: str) -> str:
    env = {**os.environ, **environ}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env).stdout.strip()


def test_what_is_masked_is_stopped_too(root: Path) -> None:
    assert (root.parent / "units").read_text().split() == sorted([*UNITS, *UBUNTUS])


def test_a_second_run_changes_nothing(root: Path) -> None:
    assert play(root) == 0


@pytest.mark.skipif(shutil.which("apt-config") is None, reason="needs apt")
@pytest.mark.parametrize("name", ["Enable", "Unattended-Upgrade", "Update-Package-Lists"])
def test_apt_does_nothing_by_itself(root: Path, name: str) -> None:
    first = root.parent / "apt.conf"
    first.write_text(f'Dir::Etc::parts "{root}/etc/apt/apt.conf.d";\n')
    found = output("apt-config", "shell", "found", f"APT::Periodic::{name}", APT_CONFIG=str(first))
    assert found == "found='0'"


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="needs systemd's programs")
@pytest.mark.parametrize("unit", [*UNITS, *UBUNTUS])
def test_no_timer_fires_and_no_service_upgrades(root: Path, unit: str) -> None:
    assert output("systemctl", f"--root={root}", "is-enabled", unit) == "masked"


def test_what_waits_is_stopped_before_systemd_reads_the_masks(tmp_path: Path) -> None:
    """The other way round its timers have failed (seen on Ubuntu 24.04: "Unit to trigger vanished")."""
    log = tmp_path / "log"
    program(tmp_path, "systemctl", f'echo "$@" >> {log}; [ "$1" != stop ]')
    done = sh((ROLES / "upgrades_off" / "files" / "stop.sh").read_text(), "a.timer", "b.service", path=tmp_path)
    assert (done.returncode, log.read_text()) == (0, "stop a.timer b.service\ndaemon-reload\n")


@pytest.mark.parametrize(
    ("said", "prints", "asked"),
    [("", "held\n", True), ("2026-12-01T00:00:00Z", "held\n", True), ("forever", "", False)],
)
def test_snaps_are_held_for_good_once(tmp_path: Path, said: str, prints: str, asked: bool) -> None:
    log = tmp_path / "log"
    program(tmp_path, "snap", f'[ "$1" = get ] && {{ echo "{said}"; exit; }}; echo "$@" >> {log}')
    script = (ROLES / "upgrades_off" / "files" / "hold_snaps.sh").read_text()
    assert sh(script, str(tmp_path), path=tmp_path).stdout == prints
    assert log.exists() is asked
    assert not asked or log.read_text() == "set system refresh.hold=forever\n"


def test_a_system_that_does_not_run_holds_no_snaps(tmp_path: Path) -> None:
    program(tmp_path, "snap", "exit 1")
    script = (ROLES / "upgrades_off" / "files" / "hold_snaps.sh").read_text()
    done = sh(script, str(tmp_path / "nothing"), path=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
def test_needrestart_restarts_nothing(root: Path) -> None:
    settings = root / "etc/needrestart/conf.d/99-longhaul.conf"
    program = "our %nrconf = (restart => 'a'); do $ARGV[0]; print $nrconf{restart}"
    assert output("perl", "-e", program, str(settings)) == "l"


@pytest.mark.parametrize("made", ["image.yml", "roles/node/tasks/prepare.yml", "roles/gateway/tasks/prepare.yml"])
def test_every_machine_gets_it_before_its_packages(made: str) -> None:
    text = (ROLES.parent / made).read_text(encoding="utf-8")
    assert 0 < text.index("upgrades_off") < text.index("packages_names")
