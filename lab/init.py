"""Process 1 of a lab: all processes of the lab live below it and end with it.

:mod:`lab.start` starts process 1 under ``unshare --mount --pid --fork --net --mount-proc``. Process 1 makes the lab's
own ``/run`` and its "internet", starts the daemon, restarts the daemon when it dies, and reaps orphans. SIGTERM ends
the daemon and then the lab. If this process ends in any other way, the kernel ends the lab too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from lab.hypervisor.addresses import DEPOT, INTERNET_DNS, INTERNET_GATEWAY, SERVICES
from lab.hypervisor.networks import INTERNET
from lab.state import LabState

_LOG = logging.getLogger("lab.init")
_DAEMON_END_S = 5.0
"""Seconds that the daemon gets to close its files before the lab ends."""
_LIVED_S = 60.0
"""Seconds that a daemon must have run for its restart to be immediate."""
_LONGEST_WAIT_S = 10.0


def main(argv: list[str] | None = None) -> int:
    """Run as process 1."""
    parser = argparse.ArgumentParser(prog="lab.init")
    parser.add_argument("--env", required=True)
    parser.add_argument("--state-root", required=True, type=Path)
    parser.add_argument("--report-fd", required=True, type=int)
    parser.add_argument("--host-net-fd", required=True, type=int)
    options = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    state = LabState.of(options.env, root=options.state_root)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})
    report = socket.socket(fileno=options.report_fd)
    try:
        _prepare(state)
    except (OSError, subprocess.CalledProcessError) as error:
        complaint = (error.stderr or b"").decode() if isinstance(error, subprocess.CalledProcessError) else ""
        report.send(json.dumps({"error": f"{error} {complaint}".strip()}).encode())
        return 1
    # The kernel adds our PID, as the host sees it, to the message.
    report.send(json.dumps({"error": ""}).encode())
    report.close()
    return DaemonKeeper(state, options.host_net_fd).keep()


def _prepare(state: LabState) -> None:
    if os.getpid() != 1:
        raise OSError("lab.init must be process 1 of a PID namespace: use `python -m lab start`")
    # A separate /run: nothing that systemd-nspawn or dnsmasq leave there reaches the host, and no service of the host
    # (its systemd, its message bus, its resolver) can be reached.
    _do("mount", "-t", "tmpfs", "-o", "mode=755,nosuid,nodev", "lab-run", "/run")
    # A machine has a copy of all mounts that existed when it started. An unmount of ours propagates to it: otherwise
    # machines that started later would keep earlier machines' disks in use.
    _do("mount", "--make-shared", "/run")
    (INTERNET.path.parent).mkdir(parents=True)
    INTERNET.path.touch()
    _do("mount", "--bind", "/proc/self/ns/net", str(INTERNET.path))
    lines = ["link set lo up"]
    lines += [f"addr add {address}/32 dev lo" for address in (INTERNET_GATEWAY, SERVICES, DEPOT, INTERNET_DNS)]
    _do("ip", "-batch", "-", stdin="\n".join(lines) + "\n")
    values = {"all/rp_filter": "0", "default/rp_filter": "0", "all/send_redirects": "0", "default/send_redirects": "0"}
    for name, value in values.items():
        Path("/proc/sys/net/ipv4/conf", name).write_text(value)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    with contextlib.suppress(FileNotFoundError):
        Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    _LOG.info("process 1 of the lab %s is up", state.env)


def _do(*argv: str, stdin: str = "") -> None:
    subprocess.run(argv, input=stdin.encode(), capture_output=True, check=True)


class DaemonKeeper:
    """Starts the daemon, restarts it when it dies, and ends it."""

    def __init__(self, state: LabState, host_net_fd: int) -> None:
        self._state = state
        self._host_net_fd = host_net_fd
        self._daemon = 0
        self._began = 0.0
        self._wait_s = 0.0
        self._start_at: float | None = 0.0
        self._ending = False

    def keep(self) -> int:
        """Keep the daemon running until a signal ends it; return the exit code."""
        watched = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
        while True:
            if self._start_at is not None and time.monotonic() >= self._start_at:
                self._start()
            timeout = 3600.0 if self._start_at is None else max(0.0, self._start_at - time.monotonic())
            received = signal.sigtimedwait(watched, timeout)
            if received is not None and received.si_signo in (signal.SIGTERM, signal.SIGINT):
                return self._end()
            self._reap()

    def _start(self) -> None:
        argv = [sys.executable, "-m", "lab.daemon", "--env", self._state.env, "--state-root", str(self._state.root)]
        argv += ["--host-net-fd", str(self._host_net_fd)]
        os.set_inheritable(self._host_net_fd, True)
        self._daemon = os.posix_spawn(sys.executable, argv, os.environ, setsigmask=[])
        self._began, self._start_at = time.monotonic(), None

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._daemon:
                self._daemon_died(os.waitstatus_to_exitcode(status))

    def _daemon_died(self, code: int) -> None:
        self._daemon = 0
        if self._ending:
            return
        now = time.monotonic()
        self._wait_s = 0.0 if now - self._began > _LIVED_S else min(max(2 * self._wait_s, 0.2), _LONGEST_WAIT_S)
        self._start_at = now + self._wait_s
        _LOG.warning("the daemon ended with code %s: starting it again in %.1f s", code, self._wait_s)

    def _end(self) -> int:
        _LOG.info("asked to end")
        deadline = time.monotonic() + _DAEMON_END_S
        self._ending = True
        if self._daemon:
            os.kill(self._daemon, signal.SIGTERM)
        while self._daemon and time.monotonic() < deadline:
            signal.sigtimedwait({signal.SIGCHLD}, max(0.0, deadline - time.monotonic()))
            self._reap()
        return 0


if __name__ == "__main__":
    sys.exit(main())
