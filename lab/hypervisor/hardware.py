"""What makes a container look like a machine to kubelet and containerd, set up in each machine before anything else.

systemd-nspawn mounts version 1's cgroup controllers and /proc/sys read-only and has no /dev/kmsg. Everything below is
in the machine's own namespaces: its own cgroup, its own network's parameters. The kernel parameters that kubelet would
set are the host's, so a file with the value that it looks for lies over each of them.
"""

from __future__ import annotations

NAME = "lab-hardware"
SCRIPT_PATH = f"usr/local/lib/{NAME}"
UNIT_PATH = f"etc/systemd/system/{NAME}.service"
WANTS_PATH = f"etc/systemd/system/sysinit.target.wants/{NAME}.service"

KUBELET_WANTS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1}
"""k8s.io/kubernetes/pkg/kubelet/cm/container_manager_linux.go, setupKernelTunables."""

UNIT = f"""\
# What a real machine has and the lab's must be given. Written by the lab.
[Unit]
Description=The lab's hardware
DefaultDependencies=no
Before=sysinit.target systemd-sysctl.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/{SCRIPT_PATH}
"""

SCRIPT = f"""\
#!/bin/sh
# Written by the lab; see {NAME}.service.
set -eu
for group in /sys/fs/cgroup/*/; do
  if mountpoint -q "$group"; then mount -o remount,bind,rw "$group"; fi
done
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,rw /proc/sys/net
[ -e /dev/kmsg ] || ln -s null /dev/kmsg
mkdir -p /run/{NAME}
while read -r name value; do
  file=/run/{NAME}/$(basename "$name")
  echo "$value" > "$file"
  mount --bind "$file" "/proc/sys/$name"
done <<END
{"".join(f"{name} {value}" + chr(10) for name, value in KUBELET_WANTS.items())}END
"""
