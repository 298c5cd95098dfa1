"""Times of a drill, from journals with known ones."""

from __future__ import annotations

from lab.drill.journal import JournalRecord, RecordKind, RequestOutcome
from lab.drill.timing import timing


def _record(
    began: float,
    took: float,
    *,
    kind: RecordKind = RecordKind.WRITE,
    outcome: RequestOutcome = RequestOutcome.ACKNOWLEDGED,
) -> JournalRecord:
    return JournalRecord(kind=kind, began=began, ended=began + took, outcome=outcome)


def test_errors_end_with_the_last_request_that_began_after_the_fault_and_failed() -> None:
    records = (
        _record(9.0, 8.0, outcome=RequestOutcome.UNKNOWN),
        _record(12.5, 0.1, kind=RecordKind.READ, outcome=RequestOutcome.REFUSED),
        _record(11.0, 9.0, kind=RecordKind.PROBE, outcome=RequestOutcome.UNKNOWN),
        _record(14.0, 0.1),
        _record(30.0, 0.0, kind=RecordKind.EVENT),
    )
    assert timing(records, began=5.0, ended=10.0).errors_s == 2.5
    assert timing(records[:1], began=5.0, ended=10.0).errors_s == 0.0


def test_writes_are_measured_before_the_fault_and_during_it() -> None:
    quiet = [_record(0.01 * number, 0.002) for number in range(98)] + [_record(1.0, 0.5), _record(1.1, 0.4)]
    during = [_record(6.0, 1.5), _record(7.0, 0.1), _record(4.9, 0.3)]
    after = [_record(20.0, 9.0)]
    found = timing([*quiet, *during, *after], began=5.0, ended=10.0)
    assert round(found.quiet_p99_ms) == 500
    assert round(found.fault_p99_ms) == 1500
    assert timing([], began=5.0, ended=10.0).fault_p99_ms == 0.0
