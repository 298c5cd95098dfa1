"""Judges a verifier's journal: lost writes, stale reads, gaps of the watch, and the longest time without an
acknowledgement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.drill.journal import JournalRecord, RecordKind, RequestOutcome, of_kind


@dataclass(frozen=True, kw_only=True)
class DrillVerdict:
    """Findings of a verifier. ``safe`` must hold in every drill."""

    acknowledged: int
    """Number of writes that were acknowledged, without probes."""
    refused: int
    unknown: int
    """Number of writes with an unknown outcome."""
    lost: tuple[str, ...]
    """Keys of acknowledged writes that are gone, or hold another value."""
    ghosts: tuple[str, ...]
    """Keys of refused writes that exist nevertheless."""
    stale: int
    """Number of linearizable reads that returned an older revision than one acknowledged before the read began."""
    fallen: int
    """Number of writes and probes whose revision is not higher than one acknowledged before the request began."""
    unseen: tuple[str, ...]
    """Keys of acknowledged writes that the watch never reported."""
    disordered: int
    """Number of events of the watch whose revision is not higher than that of the event before."""
    relists: int
    """Number of lists after the first one. The verifier lists again when the watch cannot continue where it stopped."""
    longest_gap_s: float
    """Longest time between two acknowledged probes, minus the normal interval, in seconds."""
    gap_began: float
    """Moment of the probe before the longest gap, seconds of the monotonic clock; 0 without probes."""
    longest_read_gap_s: float
    """Longest time between two answered reads, minus the normal interval, in seconds."""

    @property
    def safe(self) -> bool:
        """Return whether no acknowledged write was lost and no two answers contradict each other."""
        return not (self.lost or self.ghosts or self.stale or self.fallen or self.unseen or self.disordered)


def judge(records: Sequence[JournalRecord], there: Mapping[str, str], *, interval_s: float) -> DrillVerdict:
    """Judge a journal. ``there`` maps the keys that exist after the fault to their values; ``interval_s`` is the time
    between two probes."""
    writes = [record for record in records if record.kind is RecordKind.WRITE]
    done = of_kind(writes, RecordKind.WRITE)
    delivered = {record.key for record in of_kind(records, RecordKind.EVENT, RecordKind.RELIST)}
    gap, began = _longest_gap(of_kind(records, RecordKind.PROBE))
    refused = [write for write in writes if write.outcome is RequestOutcome.REFUSED]
    return DrillVerdict(
        acknowledged=len(done),
        refused=len(refused),
        unknown=sum(write.outcome is RequestOutcome.UNKNOWN for write in writes),
        lost=tuple(sorted(record.key for record in done if there.get(record.key) != record.value)),
        ghosts=tuple(sorted(record.key for record in refused if record.key in there)),
        stale=_behind(records, RecordKind.READ, strictly=False),
        fallen=_behind(records, RecordKind.WRITE, RecordKind.PROBE, strictly=True),
        unseen=tuple(sorted(record.key for record in done if record.key not in delivered)),
        disordered=_disordered(of_kind(records, RecordKind.EVENT)),
        relists=len({record.revision for record in records if record.kind is RecordKind.RELIST}) - 1,
        longest_gap_s=max(0.0, gap - interval_s),
        gap_began=began,
        longest_read_gap_s=max(0.0, _longest_gap(of_kind(records, RecordKind.READ))[0] - interval_s),
    )


def _longest_gap(answered: Sequence[JournalRecord]) -> tuple[float, float]:
    gaps = [(later.ended - earlier.ended, earlier.ended) for earlier, later in pairwise(answered)]
    return max(gaps, default=(0.0, 0.0))


def _behind(records: Iterable[JournalRecord], *kinds: RecordKind, strictly: bool) -> int:
    """Count the records of ``kinds`` with a lower revision than a write that was acknowledged before the record began.
    With ``strictly``, count equal revisions too. Reads are compared with probes only, because both concern the same
    object."""
    judged = (RecordKind.WRITE, RecordKind.PROBE) if strictly else (RecordKind.PROBE,)
    acknowledged = iter([*of_kind(records, *judged), None])
    upcoming, highest, behind = next(acknowledged), 0, 0
    for record in sorted(of_kind(records, *kinds), key=lambda record: record.began):
        while upcoming is not None and upcoming.ended < record.began:
            highest, upcoming = max(highest, upcoming.revision), next(acknowledged)
        behind += record.revision < highest or (strictly and record.revision == highest)
    return behind


def _disordered(events: Sequence[JournalRecord]) -> int:
    return sum(later.revision <= earlier.revision for earlier, later in pairwise(events))
