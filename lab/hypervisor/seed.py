"""Writes files to a machine's disk before its first start: its identity, its cloud-init seed, its hardware, the lab's
CA.

Everything is written into the overlay's upper folder, so the image stays as it was baked.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from pathlib import Path

from lab.desired import DesiredMachine
from lab.hypervisor.addresses import PLATFORM
from lab.nvml import hardware

CA_NAME = "longhaul-lab"
_BUNDLE = Path("etc/ssl/certs/ca-certificates.crt")
_CLOUD_INIT = """\
# The lab's machines have one source of user-data, and their network is set from outside, as by a cloud's DHCP.
datasource_list: [NoCloud]
network: {config: disabled}
"""

_HARDWARE = "lab-hardware"
"""Name of the script and unit that make a container look like a machine to kubelet and containerd.

The unit runs in each machine before anything else. systemd-nspawn mounts version 1's cgroup controllers and /proc/sys
read-only and has no /dev/kmsg. The script changes only the machine's own namespaces: its own cgroup, its own network's
parameters. The kernel parameters that kubelet would set are the host's, so a file with the value that kubelet looks for
is mounted over each of them.
"""
_SCRIPT_PATH = f"usr/local/lib/{_HARDWARE}"
_UNIT_PATH = f"etc/systemd/system/{_HARDWARE}.service"
_WANTS_PATH = f"etc/systemd/system/sysinit.target.wants/{_HARDWARE}.service"

_KUBELET_WANTS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1}
"""Kernel parameters that kubelet requires: k8s.io/kubernetes/pkg/kubelet/cm/container_manager_linux.go,
setupKernelTunables."""

_UNIT = f"""\
# What a real machine has and the lab's must be given. Written by the lab.
[Unit]
Description=The lab's hardware
DefaultDependencies=no
Before=sysinit.target systemd-sysctl.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/{_SCRIPT_PATH}
"""

_SCRIPT = f"""\
#!/bin/sh
# Written by the lab; see {_HARDWARE}.service.
set -eu
for group in /sys/fs/cgroup/*/; do
  if mountpoint -q "$group"; then mount -o remount,bind,rw "$group"; fi
done
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net
[ -e /dev/kmsg ] || ln -s null /dev/kmsg
mkdir -p /run/{_HARDWARE}
while read -r name value; do
  file=/run/{_HARDWARE}/$(basename "$name")
  echo "$value" > "$file"
  mount --bind "$file" "/proc/sys/$name"
done <<END
{"".join(f"{name} {value}" + chr(10) for name, value in _KUBELET_WANTS.items())}END
"""


def write(*, machine: DesiredMachine, upper: Path, image: Path, ca: bytes, gpu_library: Path | None = None) -> None:
    """Write a new machine's files into ``upper``; ``ca`` is the lab's CA certificate in PEM, ``gpu_library`` the
    stand-in for the library of GPUs' driver, for a machine with GPUs."""
    identity = {
        "etc/hostname": f"{machine.name}\n",
        "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {machine.name}\n",
        "etc/machine-id": secrets.token_hex(16) + "\n",
        "etc/resolv.conf": f"nameserver {PLATFORM}\n",
        "etc/cloud/cloud.cfg.d/99-lab.cfg": _CLOUD_INIT,
        _UNIT_PATH: _UNIT,
    }
    for name, text in identity.items():
        _put(upper, name, text.encode())
    script = _SCRIPT
    if machine.gpus and gpu_library is not None:
        script += f"ldconfig\n{hardware.script(machine.gpus, run=f'/run/{_HARDWARE}')}"
        _put_gpus(machine, upper, image, gpu_library)
    _put(upper, _SCRIPT_PATH, script.encode(), mode=0o755)
    _link(upper, _WANTS_PATH, f"/{_UNIT_PATH}")
    _put_seed(machine, upper)
    if ca:
        _put_ca(upper, image, ca)


def _put_gpus(machine: DesiredMachine, upper: Path, image: Path, library: Path) -> None:
    other = (image / "usr" / "lib" / hardware.multiarch() / "libutil.so.1").resolve()
    for name, content in hardware.files(gpus=machine.gpus, library=library, other=other).items():
        _put(upper, name, content)
    for name, target in hardware.links().items():
        _link(upper, name, target)


def _put_seed(machine: DesiredMachine, upper: Path) -> None:
    seed = "var/lib/cloud/seed/nocloud"
    meta = {"instance-id": f"{machine.id}-{machine.generation}", "local-hostname": machine.name}
    _put(upper, f"{seed}/meta-data", json.dumps(meta).encode() + b"\n")
    _put(upper, f"{seed}/user-data", machine.user_data, mode=0o600)


def _put_ca(upper: Path, image: Path, ca: bytes) -> None:
    """Trust ``ca`` as ``update-ca-certificates`` does, so that a later run of that command keeps the result."""
    _put(upper, f"usr/local/share/ca-certificates/{CA_NAME}.crt", ca)
    bundle = image / _BUNDLE
    _put(upper, str(_BUNDLE), (bundle.read_bytes() if bundle.exists() else b"") + ca)
    _put(upper, f"etc/ssl/certs/{CA_NAME}.pem", ca)
    subject = subprocess.run(
        ["openssl", "x509", "-noout", "-subject_hash"],
        input=ca,
        capture_output=True,
        check=True,
    )
    _link(upper, f"etc/ssl/certs/{subject.stdout.decode().strip()}.0", f"{CA_NAME}.pem")


def _put(upper: Path, name: str, content: bytes, *, mode: int = 0o644) -> None:
    path = upper / name
    _parents(upper, path.parent)
    path.write_bytes(content)
    path.chmod(mode)


def _link(upper: Path, name: str, target: str) -> None:
    path = upper / name
    _parents(upper, path.parent)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _parents(upper: Path, directory: Path) -> None:
    """Make folders that merge with the image's: owned by root, mode 0755, as all folders named here are in Debian."""
    directory.mkdir(parents=True, exist_ok=True)
    while directory != upper:
        directory.chmod(0o755)
        directory = directory.parent
