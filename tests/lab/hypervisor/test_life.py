"""Start, failure and removal of whole labs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab import teardown
from lab.cgroups import ControlGroup
from lab.desired import World
from lab.state import PORT_VARIABLE, InitRecord, lock
from tests.lab.hypervisor.conftest import FRONTEND, PROJECT, Lab, balancer, curl, eventually, machine, network_one

pytestmark = pytest.mark.lab


def world() -> World:
    return World(networks=(network_one(),), machines=(machine("alpha", "10.1.0.4/24"),), load_balancers=(balancer(),))


@pytest.fixture
def lab(make_lab: Callable[[str], Lab], request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A lab that is not started."""
    lab = make_lab(f"t-{zlib.crc32(request.node.name.encode())}")
    yield lab
    if not nothing_left(lab):
        lab.lab("down", "--all")


@pytest.fixture
def running(lab: Lab) -> Lab:
    return started_lab(lab)


@pytest.fixture(scope="module")
def kept(make_lab: Callable[[str], Lab]) -> Lab:
    """A lab for the tests that leave it as it is."""
    return started_lab(make_lab("test-kept"))


def started_lab(lab: Lab) -> Lab:
    lab.start()
    lab.apply(world())
    lab.await_phase("running", "alpha")
    return lab


def nothing_left(lab: Lab) -> bool:
    return not teardown.leftovers(lab.state)


def started(lab: Lab) -> str:
    return lab.inside("alpha", "cut -d ' ' -f 22 /proc/1/stat").stdout


def test_a_second_start_says_so_and_changes_nothing(kept: Lab) -> None:
    pid = kept.pid()
    assert f"already running (process {pid})" in kept.start().stdout
    assert kept.pid() == pid
    refused = kept.start("--supernet", "10.0.0.0/9", check=False)
    assert refused.returncode == 1
    assert "runs with other parameters" in refused.stderr


def test_a_daemon_that_is_killed_comes_back_and_adopts(running: Lab) -> None:
    eventually(lambda: running.verdicts().get("10.1.0.4"), what="the backend is up")
    before, pid = started(running), running.daemon_pid()
    os.kill(pid, signal.SIGKILL)
    # Machines, names and the load balancer do not need the daemon.
    assert started(running) == before
    eventually(lambda: running.status()["daemon"]["running"], what="a new daemon")
    assert running.daemon_pid() != pid
    running.await_phase("running", "alpha")
    assert started(running) == before
    assert running.enter(*curl(f"http://{FRONTEND}/").split()).stdout == "alpha 10.9.0.1\n"
    # The new daemon watches the machine, and serves the cloud inside its network.
    assert running.inside("alpha", curl("http://169.254.169.254/")).stdout.endswith(": 10.1.0.4\n")
    running.apply(World(networks=(network_one(),)))
    running.await_phase("absent", "alpha")


def test_what_a_dead_daemon_left_and_nobody_wants_is_removed_and_named(running: Lab) -> None:
    pid = running.daemon_pid()
    os.kill(running.pid(), signal.SIGSTOP)  # no new daemon before the world has changed
    os.kill(pid, signal.SIGKILL)
    (running.state.cloud / "world").unlink()
    os.kill(running.pid(), signal.SIGCONT)
    eventually(lambda: running.status()["daemon"]["running"], what="a new daemon")
    running.apply(World())
    eventually(lambda: not ControlGroup.of(running.state, "alpha").exists(), what="the orphan is gone")
    assert "orphan machine alpha" in running.log()
    eventually(lambda: "orphan router net-" in running.log(), what="the router is named")


def test_when_process_1_is_killed_everything_is_gone(running: Lab) -> None:
    members = ControlGroup.of(running.state).members()
    assert len(members) > 10
    os.kill(running.pid(), signal.SIGKILL)
    eventually(lambda: not ControlGroup.of(running.state).members(), what="all processes are gone")
    assert running.lab("status", check=False).returncode == 3
    entered = running.enter("true")
    assert entered.returncode == 1
    assert entered.stderr == (
        f"the lab of environment {running.state.env} is not running: {running.state.make('lab')}\n"
    )
    # A second start makes the same lab again from its files.
    running.start()
    running.await_phase("running", "alpha")
    running.lab("down", "--all")
    assert nothing_left(running)


def test_down_removes_every_trace_and_can_be_run_twice(running: Lab) -> None:
    assert teardown.leftovers(running.state)
    interfaces = Path("/proc/net/dev").read_text().count(":")
    running.lab("down")
    assert not running.state.directory.exists()
    assert running.state.console_log("alpha").exists()
    running.lab("down", "--all")
    assert nothing_left(running)
    assert not running.state.root.exists()
    assert Path("/proc/net/dev").read_text().count(":") == interfaces
    running.lab("down", "--all")


def test_down_ends_what_was_entered(running: Lab) -> None:
    with subprocess.Popen([str(running.state.enter), "sleep", "1000"]) as sleeper:
        eventually(
            lambda: sleeper.pid in ControlGroup.of(running.state, "_operator").members(), what="it is in the group"
        )
        running.lab("down", "--all")
        assert sleeper.wait(timeout=60) == -signal.SIGTERM
    assert nothing_left(running)


def test_down_when_the_daemon_hangs(running: Lab) -> None:
    os.kill(running.daemon_pid(), signal.SIGSTOP)
    running.lab("down", "--all")
    assert nothing_left(running)


def test_down_when_process_1_hangs(running: Lab) -> None:
    os.kill(running.pid(), signal.SIGSTOP)
    running.lab("down", "--all")
    assert nothing_left(running)


def test_down_without_a_record(running: Lab) -> None:
    """The start was killed before it could record what it had started."""
    running.state.init_file.unlink()
    refused = running.start(check=False)
    assert refused.returncode == 1
    assert "without a record" in refused.stderr
    running.lab("down", "--all")
    assert nothing_left(running)


def test_a_record_of_an_earlier_boot_or_another_process_is_not_believed(lab: Lab) -> None:
    lab.state.create()
    mine = InitRecord.of(os.getpid(), port=1)
    stale = [
        InitRecord(pid=mine.pid, started=mine.started + 1, boot_id=mine.boot_id, port=1),
        InitRecord(pid=mine.pid, started=mine.started, boot_id="another", port=1),
    ]
    for record in stale:
        record.write(lab.state)
        assert lab.lab("status", check=False).returncode == 3
    lab.lab("down", "--all")  # and this process is alive
    assert nothing_left(lab)


def test_down_follows_no_link_and_removes_what_is_write_protected(lab: Lab, tmp_path: Path) -> None:
    lab.state.create()
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    (lab.state.directory / "link").symlink_to(precious)
    fixed = lab.state.directory / "fixed"
    fixed.mkdir()
    (fixed / "file").write_text("x")
    subprocess.run(["chattr", "+i", str(fixed / "file"), str(fixed)], check=True)
    lab.lab("down", "--all")
    assert (precious / "file").read_text() == "kept"
    assert nothing_left(lab)


def test_down_refuses_while_something_is_mounted_below(lab: Lab) -> None:
    lab.state.create()
    point = lab.state.directory / "point"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "test", str(point)], check=True)
    try:
        (point / "file").write_text("kept")
        refused = lab.lab("down", "--all", check=False)
        assert refused.returncode == 1
        assert f"{point} is still mounted" in refused.stderr
        assert (point / "file").read_text() == "kept"
    finally:
        subprocess.run(["umount", str(point)], check=True)
    lab.lab("down", "--all")
    assert nothing_left(lab)


def test_two_environments_side_by_side(running: Lab, kept: Lab) -> None:
    """They have the same names and addresses."""
    assert kept.pid() != running.pid()
    running.inside("alpha", "touch /root/first")
    assert kept.inside("alpha", "ls /root").stdout == ""
    running.lab("down", "--all")
    assert nothing_left(running)
    assert kept.enter(*curl("http://10.1.0.4:8000/").split()).stdout == "alpha 10.9.0.1\n"


def test_a_host_with_cgroups_of_version_2_alone(lab: Lab) -> None:
    """Runs in a mount namespace of its own, which has only the host's version 2 hierarchy."""
    script = 'umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"'
    modern = replace(lab, prefix=("unshare", "--mount", "sh", "-c", script, "sh"))
    modern.start()
    modern.apply(world())
    modern.await_phase("running", "alpha")
    found = "stat -fc %T /sys/fs/cgroup; systemctl is-system-running || journalctl --no-pager --priority=warning"
    assert modern.inside("alpha", found).stdout.split() == ["cgroup2fs", "running"]
    modern.lab("power", "alpha", "reset")
    modern.await_phase("running", "alpha")
    modern.lab("down", "--all")
    assert nothing_left(lab)


def test_what_is_entered_is_the_command_itself(kept: Lab, tmp_path: Path) -> None:
    result = kept.enter("sh", "-c", "cat; pwd; echo $ODD; exit 9", input="in\n", cwd=tmp_path)
    assert result.stdout == f'in\n{tmp_path}\nit\'s $HOME "quoted"\n'
    assert result.returncode == 9
    with subprocess.Popen([str(kept.state.enter), "sleep", "1000"]) as process:
        eventually(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", what="it became the command")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == -signal.SIGTERM
    names = kept.enter("sh", "-c", "cat /etc/resolv.conf; printenv PULUMI_BACKEND_URL").stdout.splitlines()
    assert names == ["nameserver 198.51.100.53", f"file://{kept.state.directory}/pulumi"]
    assert "198.51.100.53" not in Path("/etc/resolv.conf").read_text()


def test_the_control_socket_and_the_secrets_are_roots_alone(kept: Lab) -> None:
    assert kept.state.directory.stat().st_mode & 0o077 == 0
    assert kept.state.control_socket.stat().st_mode & 0o077 == 0
    assert kept.state.operator_env.stat().st_mode & 0o777 == 0o600


def test_a_port_in_use_is_said_with_its_holder(lab: Lab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = lab.start(check=False, env={**os.environ, PORT_VARIABLE: port})
    assert refused.returncode == 1
    assert f"127.0.0.1:{port} is taken by process {os.getpid()}" in refused.stderr
    assert PORT_VARIABLE in refused.stderr
    assert nothing_left(lab)


def test_two_commands_on_one_environment_do_not_fight(lab: Lab) -> None:
    with lock(lab.state):
        refused = lab.start(check=False)
    assert refused.returncode == 1
    assert f"is being worked on by process {os.getpid()}" in refused.stderr
    lab.lab("down")


def test_a_start_that_is_killed_can_be_repeated(lab: Lab) -> None:
    words = ["start", "--env", lab.state.env, "--state-root", str(lab.state.root), "--rootfs", str(lab.rootfs)]
    words += ["--operators", "10.9.0.0/24", "--supernet", "10.0.0.0/8", "--api-address", f"{FRONTEND}:80"]
    words += ["--cloud", "tests.lab.hypervisor.fake_cloud:FakeCloud"]
    with subprocess.Popen([sys.executable, "-m", "lab", *words], cwd=PROJECT) as child:
        eventually(lab.state.init_file.exists, what="process 1 is recorded")
        child.kill()
    assert "already running" in lab.start().stdout


def test_what_the_host_lacks_is_said(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    script = "from lab.start import check_host; from lab.state import LabState; check_host(LabState.of('x'))"
    code = f"import os, lab.start as s; s._with_system_folders = lambda path: {str(tmp_path)!r}\n{script}"
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert "apt-get install dnsmasq-base iproute2 mount nftables openssl systemd-container util-linux" in result.stderr


def test_a_wrong_root_file_system_is_said(lab: Lab, tmp_path: Path) -> None:
    refused = lab.start("--rootfs", str(tmp_path), check=False)
    assert refused.returncode == 1
    assert f"{tmp_path} is no root file system" in refused.stderr


def test_the_record_is_what_others_read(kept: Lab) -> None:
    record = json.loads(kept.state.init_file.read_text())
    assert set(record) == {"pid", "started", "boot_id", "port"}
