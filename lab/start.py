"""Brings up a lab: checks, process 1, and the wait until its daemon answers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lab import cgroups, control, inotify, tenants
from lab.config import LabConfig
from lab.state import InitRecord, LabError, LabState, check_port_free, running_init

_COMMANDS = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setsid": "util-linux",
    "mount": "mount",
    "umount": "mount",
    "ip": "iproute2",
    "nft": "nftables",
    "dnsmasq": "dnsmasq-base",
    "systemd-nspawn": "systemd-container",
    "openssl": "openssl",
}
"""Programs that the lab runs on the host, and the Debian packages that contain them."""
_DISK_BYTES = 3 << 30
"""Free space in bytes that a lab needs for images' package caches, logs and etcd's files. With less, machines would
soon fail with odd errors."""
WATCHERS = 80
"""Number of inotify instances of a hybrid lab with two nodes; used when the caller gives no number."""
_REPORT_S = 60.0
_READY_S = 180.0
"""Seconds that process 1 and the daemon may take to start; if one of them ends, the wait ends at once."""


def start(
    state: LabState, config: LabConfig, *, watchers: int = WATCHERS, say: Callable[[str], None] = print
) -> InitRecord:
    """Bring the lab up and wait until it answers; a tenant joins its lab. Idempotent: a running lab with the same
    parameters is left alone. ``watchers`` is the number of inotify instances that the lab's machines will need.

    Raise :class:`LabError` for everything that the user must correct.
    """
    check_host(state)
    config.check()
    record = running_init(state)
    if record is not None:
        given = give(state, config)
        daemon = _await_ready(state, record)
        with contextlib.suppress(OSError) if given else contextlib.nullcontext():
            control.request(state, "POST", "/refresh")
        if given:
            _await_ready(state, record, after=daemon)
        say(f"the lab of environment {state.env} is already running (process {record.pid})")
        return record
    if cgroups.ControlGroup.of(state).members():
        raise LabError(
            f"processes of an earlier lab of environment {state.env} are left without a record of it: "
            f"`.venv/bin/python -m lab down --env {state.env}` ends them"
        )
    # A running lab already has its inotify instances: it must be found before they are counted.
    inotify.check_room(watchers)
    check_port_free(config.port)
    if config.beside:
        return _join(state, config, say)
    state.create()
    state.machines.mkdir(mode=0o700, exist_ok=True)
    config.write(state)
    record = _launch(state, config)
    for tenant, its in tenants.configs(tenants.tenants_of(state)).items():
        tenants.renew(LabState(root=state.root, env=tenant), record, port=its.port)
    _await_ready(state, record)
    say(f"the lab of environment {state.env} is up (process {record.pid}, port {config.port})")
    return record


def _join(state: LabState, config: LabConfig, say: Callable[[str], None]) -> InitRecord:
    """Make the environment a tenant in another's lab."""
    host, running = tenants.host_record(config, state)
    host_config = LabConfig.read(host)
    tenants.check_fits(config, host_config, env=state.env)
    others = tuple(tenant for tenant in tenants.tenants_of(host) if tenant != state)
    tenants.check_apart(config, {host.env: host_config, **tenants.configs(others)}, env=state.env)
    # Not under the other's lock, which its command holds until its whole environment is up: its clouds are up long
    # before.
    record = tenants.take_in(state, config, running)
    _await_ready(host, running)
    control.request(host, "POST", "/refresh")
    say(f"environment {state.env} is in the same lab as environment {host.env} (port {config.port})")
    return record


def check_host(state: LabState) -> None:
    """Raise :class:`LabError` for a host that cannot run a lab."""
    if os.geteuid() != 0:
        raise LabError("the lab needs root (namespaces, mounts, cgroups): run it again as root")
    os.environ["PATH"] = _with_system_folders(os.environ.get("PATH", os.defpath))
    missing = {program: package for program, package in _COMMANDS.items() if shutil.which(program) is None}
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise LabError(f"missing commands: {', '.join(sorted(missing))}: apt-get install {packages}")
    if "\toverlay\n" not in Path("/proc/filesystems").read_text() and not _works("modprobe", "overlay"):
        raise LabError("the kernel has no overlay file system: load the module 'overlay' or boot a kernel that has it")
    if not Path("/dev/net/tun").exists() and not _works("modprobe", "tun"):
        raise LabError("there is no /dev/net/tun, which VPN gateways need: load the module 'tun'")
    _check_network_features()
    cgroups.hierarchies()
    for forbidden in ("/run", "/proc", "/sys"):
        if state.root.is_relative_to(forbidden):
            raise LabError(f"the state folder {state.root} lies under {forbidden}, which is another one inside the lab")
    place = next(folder for folder in (state.root, *state.root.parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if free < _DISK_BYTES:
        raise LabError(
            f"only {free / 2**30:.1f} GiB are free at {place}, the lab needs {_DISK_BYTES / 2**30:.0f}: free some space"
        )


def _with_system_folders(path: str) -> str:
    folders = path.split(":")
    return ":".join([*folders, *(folder for folder in ("/usr/sbin", "/sbin") if folder not in folders)])


def _works(*argv: str) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _check_network_features() -> None:
    """Try, in a temporary namespace, the features that the routers need."""
    rules = "table ip t { chain c { type nat hook prerouting priority dstnat; "
    rules += "tcp dport 1 dnat ip addr . port to jhash ip saddr mod 1 map { 0 : 192.0.2.1 . 1 }; }; }"
    script = 'ip link add v0 type veth peer name v1 || exit 3; printf "%s" "$1" | nft -f - || exit 4'
    result = subprocess.run(["unshare", "--net", "sh", "-c", script, "check", rules], capture_output=True, check=False)
    complaint = result.stderr.decode(errors="replace").strip()
    if result.returncode == 3:
        raise LabError(f"the kernel makes no veth interfaces ({complaint}): load the module 'veth'")
    if result.returncode == 4:
        raise LabError(
            f"nftables with address translation does not work ({complaint}): load nf_tables, nft_chain_nat, nft_hash"
        )
    if result.returncode != 0:
        raise LabError(f"no network namespace can be made ({complaint}): the lab does not run inside this container")


def give(state: LabState, config: LabConfig) -> bool:
    """Write additions for a running lab (images, another depot, a company, GPUs), and return whether there are any.
    The lab's daemon reads the additions at its next start; machines do not notice that start."""
    written = LabConfig.read(state)
    images = {**config.images, **written.images}
    given = replace(written, images=images, depot=config.depot, company=config.company, gpu_library=config.gpu_library)
    if config not in (written, given) or (config.beside and config != written):
        raise LabError(
            f"the lab of environment {state.env} runs with other parameters ({state.config_file}): "
            f"`.venv/bin/python -m lab down --env {state.env}` first"
        )
    if config != written:
        config.write(state)
    return config != written


def _launch(state: LabState, config: LabConfig) -> InitRecord:
    """Start process 1, detached from this process, and wait until it reports that it is up."""
    # Remains of a dead lab are removed first: its socket and its record would mislead.
    state.control_socket.unlink(missing_ok=True)
    state.init_file.unlink(missing_ok=True)
    group = cgroups.ControlGroup.of(state, cgroups.LAB)
    group.create()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.settimeout(_REPORT_S)
    host_net = os.open("/proc/self/ns/net", os.O_RDONLY)
    argv = ["unshare", "--mount", "--pid", "--fork", "--net", "--mount-proc", sys.executable, "-m", "lab.init"]
    argv += ["--env", state.env, "--state-root", str(state.root)]
    argv += ["--report-fd", str(theirs.fileno()), "--host-net-fd", str(host_net)]
    with ours, state.daemon_log.open("ab") as log:
        child = subprocess.Popen(
            group.entering(argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).resolve().parent.parent,
            start_new_session=True,
            pass_fds=(theirs.fileno(), host_net),
        )
        theirs.close()
        os.close(host_net)
        pid = _hear(ours, state)
    record = InitRecord.of(pid, port=config.port)
    record.write(state)
    child.returncode = 0  # never waited for: the lab outlives this command
    return record


def _hear(report: socket.socket, state: LabState) -> int:
    """Return the host's PID of process 1, which the kernel adds to its message (SCM_CREDENTIALS, unix(7))."""
    try:
        message, ancillary, _, _ = report.recvmsg(65536, socket.CMSG_SPACE(struct.calcsize("3i")))
    except TimeoutError:
        message, ancillary = b"", []
    if not message:
        raise LabError(f"process 1 of the lab did not come up; see {state.daemon_log}")
    if complaint := json.loads(message)["error"]:
        raise LabError(f"process 1 of the lab could not set up: {complaint}; see {state.daemon_log}")
    pids = [struct.unpack("3i", data)[0] for _, kind, data in ancillary if kind == socket.SCM_CREDENTIALS]
    return int(pids[0])


def _await_ready(state: LabState, record: InitRecord, *, after: int = 0) -> int:
    """Wait until the daemon answers with a process id other than ``after``; return that id, as numbered in the lab."""
    deadline = time.monotonic() + _READY_S
    while True:
        with contextlib.suppress(OSError, LabError):
            answer = control.request(state, "GET", "/status")
            if answer.get("ready") and answer.get("pid") != after:
                return int(answer["pid"])
        if not record.alive():
            raise LabError(f"process 1 of the lab of environment {state.env} has ended; see {state.daemon_log}")
        if time.monotonic() > deadline:
            raise LabError(f"the lab's daemon does not answer after {_READY_S:g} s; see {state.daemon_log}")
        time.sleep(0.05)
