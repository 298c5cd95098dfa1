"""Times in a verifier's journal before, during and after a fault. Moments are seconds of the machine's monotonic clock,
which all its processes share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.drill.journal import JournalRecord, RecordKind, RequestOutcome, of_kind


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Times of one drill."""

    errors_s: float
    """Seconds from the fault's end until the beginning of the last failed request; 0 when no request failed."""
    quiet_p99_ms: float
    """99th percentile of acknowledged writes before the fault, milliseconds; 0 without writes."""
    fault_p99_ms: float
    """99th percentile of acknowledged writes during the fault, milliseconds; 0 without writes."""


def timing(records: Sequence[JournalRecord], *, began: float, ended: float) -> Timing:
    """Return the times of a drill whose fault was injected from ``began`` on and repaired from ``ended`` on."""
    asked = (RecordKind.WRITE, RecordKind.PROBE, RecordKind.READ)
    failed = [
        record.began for record in records if record.kind in asked and record.outcome is not RequestOutcome.ACKNOWLEDGED
    ]
    writes = of_kind(records, RecordKind.WRITE)
    return Timing(
        errors_s=max(0.0, max(failed, default=ended) - ended),
        quiet_p99_ms=_p99_ms([write for write in writes if write.ended < began]),
        fault_p99_ms=_p99_ms([write for write in writes if began <= write.ended and write.began < ended]),
    )


def _p99_ms(writes: Sequence[JournalRecord]) -> float:
    took = sorted(write.ended - write.began for write in writes)
    return 1000 * took[len(took) * 99 // 100] if took else 0.0
