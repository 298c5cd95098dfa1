"""Inotify instances: Linux allows each user 128 instances on the host, and each machine of a lab needs some.

All machines of a lab run as root on one kernel, so they share one limit (inotify(7); fs/notify/inotify/inotify_user.c,
``init_user_ns``).
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from lab.state import LabError

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH = 8192
"""Advised limit; nodes set the same (docs/performance.md)."""
MACHINE, API_SERVER, NODE, VPN = 5, 7, 8, 5
"""Numbers of inotify instances, counted in ``/proc/*/fd`` of a lab. MACHINE: four of systemd and one of the message
bus. API_SERVER: those of kube-apiserver. NODE: five of kubelet, two of containerd and one of kube-proxy. VPN: one of
kube-proxy, and one for each path that systemd watches."""


def at_hand(wanted: int) -> bool:
    """Return whether ``wanted`` instances can be made now, by making them: no counter includes the instances of other
    namespaces."""
    libc = ctypes.CDLL(None, use_errno=True)
    made: list[int] = []
    try:
        while len(made) < wanted:
            descriptor = int(libc.inotify_init1(os.O_CLOEXEC))
            if descriptor < 0:
                code = ctypes.get_errno()
                if code == errno.EMFILE:
                    return False
                raise OSError(code, os.strerror(code))
            made.append(descriptor)
    finally:
        for instance in made:
            os.close(instance)
    return True


def check_room(wanted: int, *, limit: Path = LIMIT) -> None:
    """Raise :class:`LabError` when ``wanted`` instances are not available. The limit belongs to the host, and the lab
    does not change it."""
    if not at_hand(wanted):
        most = limit.read_text().strip()
        raise LabError(
            f"the lab needs {wanted} more inotify instances, and root may have {most} in all on this machine: end "
            f"what uses them, such as another lab, or `sysctl fs.inotify.max_user_instances={ENOUGH}`"
        )
