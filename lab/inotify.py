"""Inotify instances, of which Linux gives a user 128 for the whole machine: each machine of a lab holds some.

All machines of a lab are root's on one kernel (inotify(7); fs/notify/inotify/inotify_user.c, ``init_user_ns``).
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path

from lab.state import LabError

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
RAISED = 8192
"""Limit that a lab sets where it may. Its own nodes declare the same (docs/performance.md)."""
MACHINE, API_SERVER, NODE = 5, 7, 8
"""Numbers of inotify instances: four of a machine's systemd and one of its message bus; those of kube-apiserver; five
of a kubelet, two of containerd and one of kube-proxy. Counted in ``/proc/*/fd`` of a lab."""


def at_hand(wanted: int) -> bool:
    """Return whether so many can be made now, by making them: nothing else counts those of other namespaces too."""
    libc = ctypes.CDLL(None, use_errno=True)
    made: list[int] = []
    try:
        while len(made) < wanted:
            found = int(libc.inotify_init1(os.O_CLOEXEC))
            if found < 0:
                code = ctypes.get_errno()
                if code == errno.EMFILE:
                    return False
                raise OSError(code, os.strerror(code))
            made.append(found)
    finally:
        for one in made:
            os.close(one)
    return True


def make_room(wanted: int, *, say: Callable[[str], None], limit: Path = LIMIT) -> None:
    """Raise the limit where allowed, so that pools can grow. :class:`LabError` when ``wanted`` cannot be had."""
    now = int(limit.read_text())
    if now < RAISED:
        try:
            limit.write_text(f"{RAISED}\n")
        except OSError as error:
            if not at_hand(wanted):
                raise LabError(
                    f"root may have {now} inotify instances, and this wants {wanted} more: end what uses them, as "
                    f"another lab, or `sysctl fs.inotify.max_user_instances={RAISED}` on the machine itself: here it "
                    f"cannot be raised ({error.strerror})"
                ) from None
            say(f"inotify instances stay at {now}, so pools grow as far as these last: {error.strerror}")
        else:
            say(f"fs.inotify.max_user_instances raised from {now} to {RAISED}, for this machine until it restarts")
    if not at_hand(wanted):
        raise LabError(f"{wanted} more inotify instances cannot be had: end what uses them, as another lab")
