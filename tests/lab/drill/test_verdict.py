"""Verdicts on journals, each with one fault that a verifier must not miss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.drill.journal import DrillJournal, JournalRecord, RecordKind, RequestOutcome, read
from lab.drill.verdict import DrillVerdict, judge


def _record(
    kind: RecordKind, began: float, revision: int, key: str = "", outcome: RequestOutcome = RequestOutcome.ACKNOWLEDGED
) -> JournalRecord:
    value = f"value of {key}" if kind is RecordKind.WRITE else ""
    return JournalRecord(
        kind=kind, began=began, ended=began + 0.1, outcome=outcome, key=key, value=value, revision=revision
    )


SOUND = (
    _record(RecordKind.RELIST, 0.0, 1, "probe"),
    _record(RecordKind.PROBE, 1.0, 2),
    _record(RecordKind.WRITE, 1.2, 3, "a"),
    _record(RecordKind.EVENT, 1.4, 3, "a"),
    _record(RecordKind.READ, 1.5, 2),
    _record(RecordKind.WRITE, 1.6, 0, "refused", RequestOutcome.REFUSED),
    _record(RecordKind.WRITE, 1.7, 0, "unknown", RequestOutcome.UNKNOWN),
    _record(RecordKind.PROBE, 4.0, 5),
    _record(RecordKind.WRITE, 4.2, 6, "b"),
    _record(RecordKind.EVENT, 4.4, 6, "b"),
)
THERE = {"a": "value of a", "b": "value of b", "unknown": "value of unknown"}


def _judge(*records: JournalRecord, there: dict[str, str] = THERE) -> DrillVerdict:
    return judge(records, there, interval_s=0.2)


def test_what_contradicts_nothing_is_safe() -> None:
    verdict = _judge(*SOUND)
    assert verdict.safe
    assert (verdict.acknowledged, verdict.refused, verdict.unknown, verdict.relists) == (2, 1, 1, 0)
    assert verdict.longest_gap_s == pytest.approx(2.8)
    assert verdict.gap_began == pytest.approx(1.1)


def test_of_an_unknown_write_nothing_is_expected() -> None:
    assert _judge(*SOUND, there={"a": "value of a", "b": "value of b"}).safe


def test_a_lost_write_is_found() -> None:
    assert _judge(*SOUND, there={"a": "value of a"}).lost == ("b",)
    assert _judge(*SOUND, there={**THERE, "b": "another"}).lost == ("b",)


def test_a_refused_write_that_was_done_is_found() -> None:
    assert _judge(*SOUND, there={**THERE, "refused": "value of refused"}).ghosts == ("refused",)


def test_a_stale_read_is_found() -> None:
    verdict = _judge(*SOUND, _record(RecordKind.READ, 5.0, 2))
    assert (verdict.stale, verdict.safe) == (1, False)


def test_a_read_beside_a_write_may_return_either() -> None:
    assert _judge(*SOUND, _record(RecordKind.READ, 4.05, 2), _record(RecordKind.READ, 4.05, 5)).stale == 0


def test_a_revision_that_falls_or_comes_twice_is_found() -> None:
    for revision in (2, 6):
        again = _record(RecordKind.WRITE, 5.0, revision, "a")
        assert (_judge(*SOUND, again).fallen, _judge(*SOUND, again).safe) == (1, False)


def test_a_gap_in_the_watch_is_found() -> None:
    assert _judge(*SOUND[:-1]).unseen == ("b",)
    listed = replace(_record(RecordKind.RELIST, 5.0, 7), key="b")
    verdict = _judge(*SOUND[:-1], listed)
    assert (verdict.unseen, verdict.relists) == ((), 1)


def test_events_out_of_order_are_found() -> None:
    assert _judge(*SOUND, _record(RecordKind.EVENT, 5.0, 6, "b")).disordered == 1


def test_a_journal_that_was_cut_short_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    journal = DrillJournal(tmp_path / "journal.jsonl")
    for record in SOUND:
        journal.write(record)
    journal.close()
    assert read(tmp_path / "journal.jsonl") == SOUND
    assert journal.acknowledged == 4
    text = (tmp_path / "journal.jsonl").read_text(encoding="utf-8")
    (tmp_path / "journal.jsonl").write_text(text[:-5], encoding="utf-8")
    assert read(tmp_path / "journal.jsonl") == SOUND[:-1]
