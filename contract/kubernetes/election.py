"""Leader election among several candidates, as with client-go's controllers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError
from contract.kubernetes.lease import LEASES, HeldError, LeaseTimes, holding

LEASE_S = 15
"""Time without a renewal after which another candidate may take the lease, seconds. This number and the next two are
client-go's defaults, which controller-manager and scheduler use (k8s.io/component-base/config/v1alpha1,
``RecommendedDefaultLeaderElectionConfiguration``)."""
YIELD_S = 10.0
"""Time without a renewal after which a leader stops, seconds. It ends before another candidate may take the lease."""
RETRY_S = 2.0
"""Time between attempts and between renewals, seconds."""

Leads = Callable[[], bool]


def terms(*, gone: Callable[[str], bool]) -> LeaseTimes:
    """Return the times of a leader's lease. ``gone`` returns whether a holder is known to have ended."""
    return LeaseTimes(lasts_s=LEASE_S, renew_s=RETRY_S, gone=gone, yields_s=YIELD_S)


class Candidate:
    """A candidate. It measures the leader's silence by its own machine's clock, from the last observed change of the
    lease, because clocks of machines differ and jump."""

    def __init__(
        self,
        api: Api,
        name: str,
        *,
        identity: str,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = lambda _trouble: None,
    ) -> None:
        """``tell`` is called with each new :attr:`trouble`."""
        self._api, self._name, self._identity, self._clock, self._tell = api, name, identity, clock, tell
        self._observed_lease, self._seen_at = ("", ""), clock()
        self.leader = ""
        """Identity of the leader, as last observed; empty if nobody leads."""
        self.trouble = ""
        """Error of the API at the last attempt that failed; empty once this candidate leads."""

    @contextmanager
    def leading(self, stop: threading.Event) -> Iterator[Leads | None]:
        """Wait until this candidate leads, and lead during the block. Yield a function that returns whether the
        candidate still leads, or None if ``stop`` was set before it led."""
        with ExitStack() as stack:
            is_leading = None
            while is_leading is None and not stop.is_set():
                try:
                    if self._is_free():
                        times = terms(gone=self._was)
                        is_leading = stack.enter_context(
                            holding(self._api, self._name, holder=self._identity, times=times)
                        )
                        self.leader, self.trouble = self._identity, ""
                except HeldError:
                    pass
                except ApiError as error:
                    if self.trouble != str(error):
                        self.trouble = str(error)
                        self._tell(self.trouble)
                if is_leading is None:
                    stop.wait(RETRY_S)
            yield is_leading

    def _was(self, holder: str) -> bool:
        """Return whether ``holder`` is the leader whose silence was measured."""
        return holder == self.leader

    def _is_free(self) -> bool:
        """Return whether nobody else leads, or the leader has been silent for too long."""
        lease = self._api.find(LEASES + path_of(self._name))
        spec = (lease or {}).get("spec") or {}
        self.leader, renewed = str(spec.get("holderIdentity") or ""), str(spec.get("renewTime") or "")
        if (self.leader, renewed) != self._observed_lease:
            self._observed_lease, self._seen_at = (self.leader, renewed), self._clock()
        return self.leader in ("", self._identity) or self._clock() - self._seen_at >= LEASE_S
