"""Judges the certificates of a control-plane machine by their dates. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from contract.reasons.status import StatusReason
from longhaul.control_plane.node_answers import CertificateView
from longhaul.report.status_verdict import StatusVerdict

WARN_BELOW = 1 / 6
"""Remaining share of a certificate's lifetime below which there is a warning. ``longhaul up`` renews below a third
(:data:`contract.lifetimes.RENEW_BELOW`), so a warning means that it has not run for at least a sixth of
the lifetime."""


def judge_certificates(
    certificates: Sequence[CertificateView], now: datetime
) -> tuple[StatusVerdict, StatusReason, str]:
    """Return verdict, reason and message for a machine's certificates; the message is empty when no certificate expires
    soon."""
    ended = [certificate for certificate in certificates if certificate.ends <= now]
    near = [
        certificate
        for certificate in certificates
        if certificate.ends > now and certificate.ends - now < (certificate.ends - certificate.begins) * WARN_BELOW
    ]
    if ended:
        return StatusVerdict.UNHEALTHY, StatusReason.CERTIFICATE_ENDED, _message(ended, "ended", now)
    if near:
        return StatusVerdict.DEGRADED, StatusReason.CERTIFICATE_ENDS_SOON, _message(near, "ends", now)
    return StatusVerdict.OK, StatusReason.READY, ""


def _message(certificates: Sequence[CertificateView], verb: str, now: datetime) -> str:
    first = min(certificates, key=lambda certificate: certificate.ends)
    names = ", ".join(sorted({certificate.name for certificate in certificates}))
    minutes = round(abs((first.ends - now).total_seconds()) / 60)
    span = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 2880 else f"{minutes // 1440} days"
    when = f"{span} ago" if first.ends <= now else f"in {span}"
    subject = (
        f"its certificate {names} {verb}" if len(certificates) == 1 else f"its certificates {names}: the first {verb}"
    )
    return f"{subject} {when} ({first.ends.astimezone(UTC):%Y-%m-%d %H:%M} UTC)"
