"""Leader election among the API server machines: the holder of a Lease acts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

from contract.objects import NODE_CONTROLLER_LEASE, SYSTEM_NAMESPACE
from controller.api import Api, ApiError, Object

log = logging.getLogger(__name__)

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases"

LEASE_S = 15
"""Seconds without a renewal after which a holder has lost the lease. This and the next two are client-go's defaults,
which controller-manager and scheduler use (k8s.io/component-base/config/v1alpha1,
``RecommendedDefaultLeaderElectionConfiguration``)."""

RENEW_S = 10.0
"""Seconds without a successful renewal after which a holder stops, before another candidate may begin."""

RETRY_S = 2.0
"""Seconds between attempts."""

TIMEOUT_S = 2.5
"""Timeout in seconds for one answer. An attempt asks twice, so an attempt that began just before :data:`RENEW_S` ends
before another candidate may lead."""


class Election:
    """One candidate. Time is measured only on this machine, from the moment at which a change was seen, because clocks
    may differ."""

    def __init__(self, api: Api, *, identity: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._api, self._identity, self._clock = api, identity, clock
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = clock()

    def attempt(self) -> bool:
        """Try once to take or renew the lease. Return whether this candidate holds it now; ``ApiError`` when this is
        not known."""
        lease = self._api.find(f"{LEASES}/{NODE_CONTROLLER_LEASE}")
        if lease is None:
            self._api.post(LEASES, self._document(transitions=0))
            return True
        spec = lease.get("spec", {})
        holder, renewed = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
        if (holder, renewed) != self._seen:
            self._seen, self._seen_at = (holder, renewed), self._clock()
        if holder not in ("", self._identity) and self._clock() - self._seen_at < LEASE_S:
            return False
        taken = holder != self._identity
        transitions = int(spec.get("leaseTransitions") or 0) + taken
        document = self._document(transitions=transitions)
        if not taken:
            document["spec"]["acquireTime"] = spec.get("acquireTime") or document["spec"]["acquireTime"]
        document["metadata"]["resourceVersion"] = lease["metadata"]["resourceVersion"]
        try:
            self._api.put(f"{LEASES}/{NODE_CONTROLLER_LEASE}", document)
        except ApiError as error:
            if error.status == 409:
                return False
            raise
        return True

    def acquire(self, stop: threading.Event) -> bool:
        """Wait until this candidate holds the lease; False when stopped before."""
        reported = ""
        while not stop.is_set():
            try:
                if self.attempt():
                    log.info("leading as %s", self._identity)
                    return True
            except ApiError as error:
                if error.status != 409 and str(error) != reported:
                    reported = str(error)
                    log.warning("no election yet: %s", reported)
            stop.wait(RETRY_S)
        return False

    def hold(self, stop: threading.Event) -> None:
        """Renew the lease until stopped, or until it is lost."""
        renewed_at = self._clock()
        while not stop.wait(RETRY_S):
            try:
                if not self.attempt():
                    log.error("another one leads")
                    return
                renewed_at = self._clock()
            except ApiError as error:
                log.warning("not renewed: %s", error)
            if self._clock() - renewed_at > RENEW_S:
                log.error("not renewed for %s s: leading no longer", RENEW_S)
                return

    def release(self) -> None:
        """Give up the lease, so that another candidate can take it at once."""
        try:
            lease = self._api.find(f"{LEASES}/{NODE_CONTROLLER_LEASE}")
            if lease is not None and lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                self._api.put(f"{LEASES}/{NODE_CONTROLLER_LEASE}", lease)
        except ApiError as error:
            log.warning("not released: %s", error)

    def _document(self, *, transitions: int) -> Object:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NODE_CONTROLLER_LEASE, "namespace": SYSTEM_NAMESPACE},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": LEASE_S,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        }
