"""Judges the certificates of a control-plane machine by their dates. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from longhaul.control_plane.answers import CertificateView
from longhaul.report.status_verdict import StatusVerdict

WARN_BELOW = 1 / 6
"""Share of its lifetime below which a certificate is told of. ``longhaul up`` renews below a third
(:data:`components.control_plane.issuing.RENEW_BELOW`): by then it has not run for half of that time."""


def judge_certificates(env: str, found: Sequence[CertificateView], now: datetime) -> tuple[StatusVerdict, str]:
    """Return the verdict on a machine's certificates, and what to say about it; nothing when all last."""
    ended = [one for one in found if one.ends <= now]
    near = [one for one in found if one.ends > now and one.ends - now < (one.ends - one.begins) * WARN_BELOW]
    if ended:
        return StatusVerdict.UNHEALTHY, _told(env, ended, "ended", now)
    return (StatusVerdict.DEGRADED, _told(env, near, "ends", now)) if near else (StatusVerdict.OK, "")


def _told(env: str, found: Sequence[CertificateView], verb: str, now: datetime) -> str:
    first = min(found, key=lambda one: one.ends)
    names = ", ".join(sorted({one.name for one in found}))
    minutes = round(abs((first.ends - now).total_seconds()) / 60)
    span = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h" if minutes < 2880 else f"{minutes // 1440} days"
    when = f"{span} ago" if first.ends <= now else f"in {span}"
    said = f"its certificate {names} {verb}" if len(found) == 1 else f"its certificates {names}: the first {verb}"
    return f"{said} {when} ({first.ends.astimezone(UTC):%Y-%m-%d %H:%M} UTC): `longhaul up --env {env}` renews it"
