"""Verdicts of ``longhaul status``, for people and programs."""

from __future__ import annotations

from enum import StrEnum

from clouds.base.findings import Severity


class StatusVerdict(StrEnum):
    """Verdict on a part of the environment."""

    OK = "ok"
    UNHEALTHY = "unhealthy"
    DEGRADED = "degraded"
    """It works, with fewer members, tunnels, nodes or servers than it should have, or a certificate expires soon."""
    DOWN = "down"
    MISSING = "missing"
    """It is in the environment's file, but not in the cloud or the cluster; or in the cloud, but not in the cluster."""
    JOINING = "joining"
    """It is in the cloud, but not in the cluster yet: it is recent, and was not refused."""
    WAITING = "waiting"
    """Pods do not start. That may be a fault of theirs, and so does not make the environment unhealthy."""
    UNREACHABLE = "unreachable"
    """It does not answer over SSH, and nothing else shows that it works."""
    UNEXPECTED = "unexpected"
    """It is in the cloud, but not in the environment's file."""
    UNKNOWN = "unknown"
    """Its state is not visible from here; this alone is no fault."""

    @property
    def severity(self) -> Severity:
        """Return the severity of the verdict."""
        return _SEVERITIES.get(self, Severity.PROBLEM)


_SEVERITIES = {
    StatusVerdict.OK: Severity.OK,
    StatusVerdict.UNKNOWN: Severity.UNKNOWN,
    StatusVerdict.JOINING: Severity.UNKNOWN,
    StatusVerdict.WAITING: Severity.UNKNOWN,
    StatusVerdict.DEGRADED: Severity.WARNING,
    StatusVerdict.UNEXPECTED: Severity.WARNING,
}
"""Severity of each verdict that is not a problem."""
