"""A Lease in the cluster (coordination.k8s.io/v1) with one holder at a time, as in leader election."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.times import parse_time
from contract.object_names import SYSTEM_NAMESPACE

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases"


class HeldError(Exception):
    """Somebody else holds the lease, or took the lease just now. In the second case ``holder`` is empty."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"held by {holder}" if holder else "taken just now")
        self.holder = holder


@dataclass(frozen=True, kw_only=True)
class LeaseTimes:
    """Settings of a lease."""

    lasts_s: int
    """Validity of a lease that is not renewed, seconds."""
    renew_s: float
    """Interval between renewals, seconds."""
    gone: Callable[[str], bool]
    """Returns whether a holder is known to have ended. The lease of such a holder is free before it expires."""
    yields_s: float | None = None
    """Time without a renewal after which this process no longer counts as the holder, seconds. None if the work under
    the lease notices by itself that the API does not answer."""


@contextmanager
def holding(api: Api, name: str, *, holder: str, times: LeaseTimes) -> Iterator[Callable[[], bool]]:
    """Hold a lease during the block. Yield a function that returns whether the lease is still held.

    Raises:
        HeldError: somebody else holds the lease.
        ApiError: the API refused or did not answer.
    """
    lease = _Held(api, name, holder=holder, times=times)
    lease.take()
    over = threading.Event()
    renewer = threading.Thread(target=lease.renew, args=(over,), daemon=True)
    renewer.start()
    try:
        yield lease.is_held
    finally:
        over.set()
        renewer.join()
        with suppress(ApiError):
            lease.give_back()


class _Held:
    """The lease for one holder."""

    def __init__(self, api: Api, name: str, *, holder: str, times: LeaseTimes) -> None:
        self._api, self._name, self._holder, self._terms = api, name, holder, times
        self._path = LEASES + path_of(name)
        self._version = ""
        self._renewed_at = time.monotonic()
        self._lost = False

    def is_held(self) -> bool:
        """Return whether this holder still has the lease. A lost lease stays lost, because another holder may have had
        it meanwhile."""
        yields_s = self._terms.yields_s
        self._lost = self._lost or (yields_s is not None and time.monotonic() - self._renewed_at > yields_s)
        return not self._lost

    def take(self) -> None:
        """Take the lease for this holder, also from a holder that has not renewed in time."""
        try:
            lease = self._api.find(self._path) or self._make()
            other = holder_of(lease, self._api.now())
            if other and not self._terms.gone(other):
                raise HeldError(other)
            self._version = lease["metadata"]["resourceVersion"]
            self._write(self._holder)
        except ApiError as error:
            if error.status != 409:
                raise
            raise HeldError("") from None

    def renew(self, over: threading.Event) -> None:
        """Renew the lease repeatedly until the block ends or the lease is lost."""
        while not over.wait(self._terms.renew_s) and self.is_held():
            try:
                self._write(self._holder)
            except ApiError as error:
                # A server that does not answer is asked again; the work under the lease notices that by itself.
                if error.status in (404, 409) and not self._still_held():
                    self._lost = True
                    return

    def give_back(self) -> None:
        """Release the lease, so that the next holder can take it at once."""
        if self.is_held():
            self._write("")

    def _still_held(self) -> bool:
        """Return whether this holder still has the lease after a refused write. An earlier write may have succeeded
        without an answer."""
        try:
            lease = self._api.find(self._path)
        except ApiError:
            return True
        if lease is None or (lease.get("spec") or {}).get("holderIdentity") != self._holder:
            return False
        self._version = lease["metadata"]["resourceVersion"]
        return True

    def _make(self) -> Object:
        metadata = {"name": self._name, "namespace": SYSTEM_NAMESPACE}
        return self._api.post(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})

    def _write(self, holder: str) -> None:
        """Write the lease with the version that was last written or read, so that the write fails if anybody else wrote
        since."""
        began = time.monotonic()
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": self._terms.lasts_s,
            "renewTime": self._api.now().isoformat(timespec="microseconds"),
        }
        written = self._api.patch(self._path, {"spec": spec, "metadata": {"resourceVersion": self._version}})
        self._version, self._renewed_at = written["metadata"]["resourceVersion"], began


def holder_of(lease: Object, now: datetime) -> str:
    """Return the holder of a lease; empty if there is no holder, or the holder has not renewed in time."""
    spec = lease.get("spec") or {}
    renewed = parse_time(spec.get("renewTime") or "")
    if renewed is None or now - renewed > timedelta(seconds=spec.get("leaseDurationSeconds") or 0):
        return ""
    return str(spec.get("holderIdentity") or "")
