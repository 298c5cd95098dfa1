"""The links' ways through the channel between the two rows of cards.

Every link leaves its card straight, runs along a track of its own and goes straight into the other card. No two links
share a stretch, so they only ever cross at right angles; the order of the tracks, and of the links along a card's edge,
is chosen so that few do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from longhaul.map.shapes import Box

GRID = 16
"""Links of the upper row stand on multiples of this, links of the lower row half way between: at least half of it is
between any two, whichever card they belong to. Pixels."""
PITCH = 2 * GRID
"""Between two links along a card's edge where there is room; else the grid."""

SIDE = 96
"""Left and right of a card's links, pixels: what its cloud is called is written there."""
_CLEAR = 6
"""Between a label and another wire that passes it, pixels."""
_STEP = 4
"""Between two places that a label is tried at, pixels."""

_WELL_ORDERED = 30
"""Links up to which the order is improved: eight sites. Beyond, nothing makes it legible, and the search gets long."""


@dataclass(frozen=True, kw_only=True)
class End:
    """A card as links see it."""

    box: Box
    lower: bool
    """Whether it is in the lower row, so that links leave it upwards."""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A link between two cards, by their names."""

    first: str
    second: str
    label: float
    """Width of what is written on it, pixels."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """Where a link runs: from the first card's edge at ``x1`` to ``track``, along it, and to the second's at ``x2``."""

    x1: float
    x2: float
    track: int
    label_x: float = 0
    """Middle of its label."""

    @property
    def left(self) -> float:
        """Where its horizontal stretch begins."""
        return min(self.x1, self.x2)

    @property
    def right(self) -> float:
        """Where that ends."""
        return max(self.x1, self.x2)


def narrowest(links: int) -> float:
    """Width that a card needs for so many links."""
    return max(links - 1, 0) * GRID + 2 * SIDE


def order(wires: Sequence[Wire], ends: Mapping[str, End]) -> list[Wire]:
    """The wires from the upper track to the lower one: short ones within a row next to that row, those between the
    rows in the middle; then neighbours change places as long as that saves crossings."""
    ranked = sorted(wires, key=lambda wire: _rank(wire, ends))
    if len(ranked) > _WELL_ORDERED:
        return ranked
    best = crossings(ranked, ends)
    better = True
    while better and best:
        better = False
        for index in range(len(ranked) - 1):
            tried = [*ranked]
            tried[index : index + 2] = reversed(tried[index : index + 2])
            count = crossings(tried, ends)
            if count < best:
                ranked, best, better = tried, count, True
    return ranked


def _rank(wire: Wire, ends: Mapping[str, End]) -> tuple[float, float]:
    first, second = ends[wire.first], ends[wire.second]
    length = abs(first.box.middle - second.box.middle)
    if first.lower != second.lower:
        return 1, length
    return (2, -length) if first.lower else (0, length)


def ports(ranked: Sequence[Wire], ends: Mapping[str, End]) -> dict[tuple[str, Wire], float]:
    """Where each wire leaves each of its cards. Of those that go left the one with the nearest track is outermost, of
    those that go right as well: so a card's own wires do not cross."""
    places: dict[tuple[str, Wire], float] = {}
    for name, end in ends.items():
        own = [(depth, wire) for depth, wire in enumerate(ranked) if name in (wire.first, wire.second)]
        if end.lower:
            own.reverse()
        left = [wire for _, wire in own if _leads_left(name, wire, ends)]
        right = [wire for _, wire in own if wire not in left]
        along = [*left, *reversed(right)]
        pitch = PITCH if (len(along) - 1) * PITCH + 2 * SIDE <= end.box.width else GRID
        start = _snap(end.box.middle - pitch * (len(along) - 1) / 2, lower=end.lower)
        places |= {(name, wire): start + index * pitch for index, wire in enumerate(along)}
    return places


def _leads_left(name: str, wire: Wire, ends: Mapping[str, End]) -> bool:
    """Whether the wire goes left from this card. One to a card straight above or below stands at the outer side, where
    there is room beside it for its label."""
    own = ends[name].box.middle
    other = ends[wire.second if name == wire.first else wire.first].box.middle
    if abs(other - own) >= ends[name].box.width / 2:
        return other < own
    middles = [end.box.middle for end in ends.values()]
    return own + other < min(middles) + max(middles)


def _snap(x: float, *, lower: bool) -> int:
    shift = GRID // 2 if lower else 0
    return int((x - shift) // GRID) * GRID + shift


def crossings(ranked: Sequence[Wire], ends: Mapping[str, End]) -> int:
    """How often two wires cross in this order."""
    places = ports(ranked, ends)
    spans = [(places[wire.first, wire], places[wire.second, wire]) for wire in ranked]
    count = 0
    for depth, (wire, own) in enumerate(zip(ranked, spans, strict=True)):
        for name, x in ((wire.first, own[0]), (wire.second, own[1])):
            passed = spans[depth + 1 :] if ends[name].lower else spans[:depth]
            count += sum(min(span) < x < max(span) for span in passed)
    return count


def courses(wires: Sequence[Wire], ends: Mapping[str, End], *, width: float) -> dict[Wire, Course]:
    """Every wire's course, on a page of ``width`` pixels. Wires whose stretches, labels included, are apart from each
    other share a track."""
    ranked = order(wires, ends)
    places = ports(ranked, ends)
    found: dict[Wire, Course] = {}
    track, taken = 0, list[tuple[float, float]]()
    for wire in ranked:
        course = Course(x1=places[wire.first, wire], x2=places[wire.second, wire], track=track)
        low, high = _reach(course, wire.label)
        if any(low < right + GRID and left < high + GRID for left, right in taken):
            track, taken = track + 1, []
        taken.append((low, high))
        found[wire] = replace(course, track=track)
    return {wire: _labelled(wire, found, ends, width) for wire in ranked}


def _slots(course: Course, label: float) -> tuple[float, float]:
    """Where the middle of a label may be. On the stretch; where that is too short, over either corner or both: the line
    then goes in above or below."""
    inner = label / 2 - GRID
    if course.right - course.left >= label + 2 * GRID:
        return course.left + label / 2, course.right - label / 2
    return course.left - inner, course.right + inner


def _reach(course: Course, label: float) -> tuple[float, float]:
    """The stretch and all that its label may take."""
    low, high = _slots(course, label)
    return min(course.left, low - label / 2), max(course.right, high + label / 2)


def _labelled(wire: Wire, found: Mapping[Wire, Course], ends: Mapping[str, End], width: float) -> Course:
    """The course with its label where the fewest other wires pass, and as near the middle as that allows."""
    course = found[wire]
    passing = [x for other, place in found.items() if other != wire for x in _passing(other, place, course, ends)]
    half = wire.label / 2
    low, high = _slots(course, wire.label)

    def cost(x: float) -> tuple[bool, int, float, float]:
        outside = x - half < _CLEAR or x + half > width - _CLEAR
        covered = sum(x - half - _CLEAR < other < x + half + _CLEAR for other in passing)
        return outside, covered, abs(x - (low + high) / 2), x

    slots = int((high - low) // _STEP)
    return replace(course, label_x=min((low + _STEP * slot for slot in range(slots + 1)), key=cost))


def _passing(other: Wire, place: Course, course: Course, ends: Mapping[str, End]) -> list[float]:
    """Where another wire's upright stretches meet the track of ``course``."""
    return [
        x
        for name, x in ((other.first, place.x1), (other.second, place.x2))
        if (place.track <= course.track if ends[name].lower else place.track >= course.track)
    ]
