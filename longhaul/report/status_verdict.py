"""Verdicts that longhaul status gives, for people and programs."""

from __future__ import annotations

from enum import StrEnum

from clouds.base.findings import Severity


class StatusVerdict(StrEnum):
    """Verdict on a part of the environment."""

    OK = "ok"
    UNHEALTHY = "unhealthy"
    DEGRADED = "degraded"
    """Works, with fewer members, tunnels, nodes or servers than it should have, or a certificate ends soon."""
    DOWN = "down"
    MISSING = "missing"
    """In the environment's file, but not in the cloud or the cluster; or in the cloud, and not in the cluster."""
    JOINING = "joining"
    """In the cloud, and not in the cluster yet: it has had little time, and nobody has refused it."""
    UNREACHABLE = "unreachable"
    """It does not answer over SSH, and nothing else tells that it works."""
    UNEXPECTED = "unexpected"
    """In the cloud, but not in the environment's file."""
    UNKNOWN = "unknown"
    """Cannot be seen from here; this alone is no fault."""

    @property
    def severity(self) -> Severity:
        """Return the severity of the verdict."""
        return _SEVERITIES.get(self, Severity.PROBLEM)


_SEVERITIES = {
    StatusVerdict.OK: Severity.OK,
    StatusVerdict.UNKNOWN: Severity.UNKNOWN,
    StatusVerdict.JOINING: Severity.UNKNOWN,
    StatusVerdict.DEGRADED: Severity.WARNING,
    StatusVerdict.UNEXPECTED: Severity.WARNING,
}
"""Severities of verdicts that are no problem."""
