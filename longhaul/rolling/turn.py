"""One roll of a pool at a time, whoever runs it: a Lease in the cluster, as controllers elect their leaders by."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from longhaul.drain import moment
from longhaul.engine.processes import hostname, namespace, started
from longhaul.exits import CommandError
from longhaul.kubernetes.api import Api, path_of
from longhaul.kubernetes.connection import ApiError, Object

NAMESPACE = "kube-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
HOLDS_S = 60
"""How long a turn lasts that nobody renews, seconds: so long a run waits after one that was killed."""
RENEW_S = 15.0
"""How often it is renewed, seconds."""


@contextmanager
def turn(api: Api, pool: str) -> Iterator[Callable[[], bool]]:
    """Hold the pool's turn during the block, which is given a way to ask whether it still does. ``CommandError`` when
    somebody else holds it."""
    held = _Held(api, pool, holder=_identity(os.getpid()))
    held.take()
    over = threading.Event()
    renewer = threading.Thread(target=held.renew, args=(over,), daemon=True)
    renewer.start()
    try:
        yield lambda: not held.lost
    finally:
        over.set()
        renewer.join()
        with suppress(ApiError):
            held.give_back()


class _Held:
    """The Lease in one run's hands."""

    def __init__(self, api: Api, pool: str, *, holder: str) -> None:
        self._api, self._pool, self._holder = api, pool, holder
        self._name = f"longhaul-roll-{pool}"
        self._path = LEASES + path_of(self._name)
        self._version = ""
        self.lost = False

    def take(self) -> None:
        """Make it this run's; ``CommandError`` when it is another's."""
        try:
            lease = self._api.find(self._path) or self._make()
            other = _holder(lease, self._api.now())
            if other:
                raise CommandError(
                    f"pool {self._pool} is being rolled by {other}; a run that was killed elsewhere has its turn for "
                    f"another {HOLDS_S} s at most"
                )
            self._version = lease["metadata"]["resourceVersion"]
            self._write(self._holder)
        except ApiError as error:
            if error.status != 409:
                raise
            raise CommandError(f"somebody else began to roll pool {self._pool} just now") from None

    def renew(self, over: threading.Event) -> None:
        """Again and again, until it is over or somebody else has it."""
        while not over.wait(RENEW_S):
            try:
                self._write(self._holder)
            except ApiError as error:
                # Whoever does not answer is asked again, and the roll itself says so.
                if error.status in (404, 409) and not self._still_mine():
                    self.lost = True
                    return

    def give_back(self) -> None:
        """Let whoever comes next have it at once."""
        if not self.lost:
            self._write("")

    def _still_mine(self) -> bool:
        """After a refusal: this run may have written itself, and not have had the answer."""
        try:
            lease = self._api.find(self._path)
        except ApiError:
            return True
        if lease is None or (lease.get("spec") or {}).get("holderIdentity") != self._holder:
            return False
        self._version = lease["metadata"]["resourceVersion"]
        return True

    def _make(self) -> Object:
        metadata = {"name": self._name, "namespace": NAMESPACE}
        return self._api.post(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})

    def _write(self, holder: str) -> None:
        """With the version that this run wrote or read last: nobody may have written since."""
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": HOLDS_S,
            "renewTime": self._api.now().isoformat(timespec="microseconds"),
        }
        written = self._api.patch(self._path, {"spec": spec, "metadata": {"resourceVersion": self._version}})
        self._version = written["metadata"]["resourceVersion"]


def _holder(lease: Object, now: datetime) -> str:
    """Whose turn it is, for people; empty when nobody's, or that of a process of this machine that is no more."""
    spec = lease.get("spec") or {}
    renewed, holder = moment(spec.get("renewTime") or ""), str(spec.get("holderIdentity") or "")
    if renewed is None or now - renewed > timedelta(seconds=spec.get("leaseDurationSeconds") or 0):
        return ""
    host, pid = holder.partition("/")[0], holder.rpartition("/")[2]
    if holder == _identity(pid) and pid.isdigit() and started(int(pid)) is None:
        return ""
    return f"{host}, process {pid}" if holder else ""


def _identity(pid: int | str) -> str:
    """A process among those of the same machine and the same namespace, in which alone its number says anything."""
    return f"{hostname()}/{namespace()}/{pid}"
