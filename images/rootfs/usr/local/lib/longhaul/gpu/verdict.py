"""Verdict on a report, and the Node's conditions that publish it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contract.conditions import DRIVER_MISMATCH, GPU_HEALTHY
from gpu.findings import Code

GOOD, BAD, OPEN = "True", "False", "Unknown"
"""Values of a condition's status."""

PASSED = "GpusHealthy"
NOT_SEEN = "GpusNotSeen"
IN_USE = "GpusInUse"
UNTAINTED = "PreflightTaintMissing"
BROKE_OFF = "PreflightBrokeOff"
"""Reasons other than the codes of findings. ``BROKE_OFF`` means that the preflight did not end, or ended without a
report."""

FINDING = 240
MESSAGE = 1024
"""Longest text, in characters, of one finding and of all findings. The latter is the limit of an Event
(k8s.io/kubernetes, ``NoteLengthLimit``)."""

_MISMATCHES = (Code.DRIVER_MISMATCH, Code.TOOLKIT_MISMATCH)


@dataclass(frozen=True, kw_only=True)
class GpuVerdict:
    """Contents of a condition."""

    status: str
    reason: str
    message: str

    @property
    def good(self) -> bool:
        """Return whether the status is :data:`GOOD`."""
        return self.status == GOOD


def judge(report: Mapping[str, Any]) -> GpuVerdict:
    """Return the verdict on a report in the form of the preflight's ``--json``. The verdict is good only if every check
    was made and found no problem."""
    findings = report["findings"]
    if findings:
        return GpuVerdict(status=BAD, reason=findings[0]["code"], message=_findings_text(findings))
    if report["unseen"]:
        return GpuVerdict(status=OPEN, reason=NOT_SEEN, message=_cut("; ".join(report["unseen"]), MESSAGE))
    models = ", ".join(sorted({gpu["name"] for gpu in report["gpus"]}))
    summary = f"{report['promised']} GPUs: {models}; driver {report['driver']}, CUDA {report['cuda']}"
    return GpuVerdict(status=GOOD, reason=PASSED, message=_cut(summary, MESSAGE))


def mismatch(report: Mapping[str, Any]) -> GpuVerdict:
    """Return the verdict on whether the running driver, the installed driver and the driver in containers have
    different versions."""
    mismatches = [finding for finding in report["findings"] if finding["code"] in _MISMATCHES]
    if mismatches:
        return GpuVerdict(status=GOOD, reason=mismatches[0]["code"], message=_findings_text(mismatches))
    if not report["driver"]:
        return GpuVerdict(status=OPEN, reason="NoDriverAnswers", message=f"see {GPU_HEALTHY}")
    return GpuVerdict(status=BAD, reason="OneVersion", message=f"all of {report['driver']}")


def broke_off(why: str) -> GpuVerdict:
    """Return the verdict for a preflight without a report, which is bad: GPUs that block their callers are not
    healthy."""
    return GpuVerdict(status=BAD, reason=BROKE_OFF, message=_cut(why, MESSAGE))


def conditions(
    verdict: GpuVerdict, differs: GpuVerdict, *, before: Mapping[str, Any], now: str
) -> list[dict[str, str]]:
    """Return both conditions in the API's form. ``before`` has the Node's conditions by type. ``now`` is a time, RFC
    3339."""
    return [
        _condition(type_, outcome, before.get(type_, {}), now)
        for type_, outcome in ((GPU_HEALTHY, verdict), (DRIVER_MISMATCH, differs))
    ]


def _condition(type_: str, verdict: GpuVerdict, before: Mapping[str, Any], now: str) -> dict[str, str]:
    stays = before.get("status") == verdict.status
    return {
        "type": type_,
        "status": verdict.status,
        "reason": verdict.reason,
        "message": verdict.message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": before.get("lastTransitionTime", now) if stays else now,
    }


def _findings_text(findings: list[dict[str, Any]]) -> str:
    parts = []
    for finding in findings:
        gpu = f" {finding['gpu']}" if finding["gpu"] else ""
        parts.append(_cut(f"{finding['code']}{gpu}: {finding['message']}", FINDING))
    return _cut("; ".join(parts), MESSAGE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
