"""Runs a playbook on a folder with a system. The run leaves no process, mount or temporary file, however it ends."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from longhaul.toolchain.errors import SetupError, ToolCommandError, disk_full, is_disk_full
from longhaul.toolchain.process import run_logged
from longhaul.toolchain.spec import repository

# Runs as process 1 of a PID namespace, so everything in it ends with it. Mounts only what packages' scripts expect of a
# running system. Services are not started, since there is no /run/systemd/system.
_PREPARED = """set -eu
root=$1; shift
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
for node in null zero full random urandom tty; do
  : > "$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -p "$root/run/lock"
exec "$@"
"""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def ansible_version() -> str:
    """Return the version of ansible-core."""
    return version("ansible-core")


def play(playbook: Path, *, root: Path, tags: Iterable[str], variables: Mapping[str, object], log: Path) -> None:
    """Run the tasks with one of ``tags`` on the system in ``root``. Raise :class:`SetupError` when it fails."""
    what = f"running {playbook.name} ({', '.join(tags)})"
    inside = {"ansible_connection": "rootfs", "ansible_rootfs": str(root), "ansible_become": False}
    with tempfile.TemporaryDirectory(prefix="longhaul-ansible-") as scratch:
        argv = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
        argv += ["/bin/sh", "-c", _PREPARED, "prepare", str(root)]
        argv += [sys.executable, "-m", "ansible", "playbook", "--inventory", "image,", "--tags", ",".join(tags)]
        argv += ["--extra-vars", json.dumps({**inside, **variables}), str(playbook)]
        try:
            run_logged(argv, log=log, what=what, env=_environment(Path(scratch)), end=signal.SIGKILL)
        except ToolCommandError as error:
            if is_disk_full(error.output):
                raise SetupError(f"{disk_full(root.parent, doing=what)}\n{error}") from error
            raise


def _environment(scratch: Path) -> dict[str, str]:
    return {
        "ANSIBLE_CONFIG": str(repository() / "playbooks" / "ansible.cfg"),
        "ANSIBLE_CONNECTION_PLUGINS": str(Path(__file__).with_name("connection_plugins")),
        "ANSIBLE_HOME": str(scratch),
        "ANSIBLE_LOCAL_TEMP": str(scratch),
        "ANSIBLE_REMOTE_TEMP": "/tmp/ansible",  # noqa: S108 - in the image, where /tmp is mounted for this run alone
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        # The depot is on this machine: no proxy.
        **dict.fromkeys(_PROXIES, ""),
        "no_proxy": "*",
    }
