"""Routes the links through the channel between the two rows of cards.

Every link leaves its card straight, runs along a track and goes straight into the other card. No two links share a
stretch, so they cross only at right angles. The order of the tracks, and of the links along a card's edge, is chosen
for few crossings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from longhaul.show.map.shapes import Box

GRID = 16
"""Distance between two possible positions of links in a row, pixels. Links of the upper row are on multiples of
``GRID``, links of the lower row halfway between. So any two links are at least half of ``GRID`` apart."""
PITCH = 2 * GRID
"""Distance between two links along a card's edge where there is room, pixels; elsewhere it is ``GRID``."""

SIDE = 96
"""Space left and right of a card's links, pixels. The name of the card's cloud is written there."""
_CLEAR = 6
"""Space between a label and another wire that passes it, pixels."""
_STEP = 4
"""Distance between two positions at which a label is tried, pixels."""

_WELL_ORDERED = 30
"""Maximum number of links whose order is improved; eight sites have 28 links. With more, no order is legible, and the
search takes long."""


@dataclass(frozen=True, kw_only=True)
class End:
    """A card's geometry, as far as links need it."""

    box: Box
    lower: bool
    """True for a card in the lower row, which links leave upwards."""


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A link between two cards, by their names."""

    first: str
    second: str
    label: float
    """Width of its label, pixels."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """Path of a link: from the first card's edge at ``x1`` to ``track``, along it, and to the second card's edge at
    ``x2``."""

    x1: float
    x2: float
    track: int
    label_x: float = 0
    """Middle of its label, pixels."""

    @property
    def left(self) -> float:
        """Return the left end of its horizontal stretch."""
        return min(self.x1, self.x2)

    @property
    def right(self) -> float:
        """Return the right end of its horizontal stretch."""
        return max(self.x1, self.x2)


def narrowest(links: int) -> float:
    """Return the width that a card needs for this number of links."""
    return max(links - 1, 0) * GRID + 2 * SIDE


def order(wires: Sequence[Wire], ends: Mapping[str, End]) -> list[Wire]:
    """Sort the wires from the upper track to the lower track. Short wires within a row are next to that row, and wires
    between the rows are in the middle. Then neighbours change places as long as that saves crossings."""
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
    """Return the position at which each wire leaves each of its cards. Among the wires that go left, the wire with the
    nearest track is outermost. The same holds for the wires that go right. So a card's own wires do not cross."""
    places: dict[tuple[str, Wire], float] = {}
    for name, end in ends.items():
        wires = [(depth, wire) for depth, wire in enumerate(ranked) if name in (wire.first, wire.second)]
        if end.lower:
            wires.reverse()
        left = [wire for _, wire in wires if _leads_left(name, wire, ends)]
        right = [wire for _, wire in wires if wire not in left]
        along = [*left, *reversed(right)]
        pitch = PITCH if (len(along) - 1) * PITCH + 2 * SIDE <= end.box.width else GRID
        start = _snap(end.box.middle - pitch * (len(along) - 1) / 2, lower=end.lower)
        places |= {(name, wire): start + index * pitch for index, wire in enumerate(along)}
    return places


def _leads_left(name: str, wire: Wire, ends: Mapping[str, End]) -> bool:
    """Return whether the wire goes left from this card. A wire to a card straight above or below goes to the outer
    side, where there is room beside it for its label."""
    position = ends[name].box.middle
    other = ends[wire.second if name == wire.first else wire.first].box.middle
    if abs(other - position) >= ends[name].box.width / 2:
        return other < position
    middles = [end.box.middle for end in ends.values()]
    return position + other < min(middles) + max(middles)


def _snap(x: float, *, lower: bool) -> int:
    shift = GRID // 2 if lower else 0
    return int((x - shift) // GRID) * GRID + shift


def crossings(ranked: Sequence[Wire], ends: Mapping[str, End]) -> int:
    """Return how many times two wires cross in this order."""
    places = ports(ranked, ends)
    spans = [(places[wire.first, wire], places[wire.second, wire]) for wire in ranked]
    count = 0
    for depth, (wire, leads) in enumerate(zip(ranked, spans, strict=True)):
        for name, x in ((wire.first, leads[0]), (wire.second, leads[1])):
            passed = spans[depth + 1 :] if ends[name].lower else spans[:depth]
            count += sum(min(span) < x < max(span) for span in passed)
    return count


def courses(wires: Sequence[Wire], ends: Mapping[str, End], *, width: float) -> dict[Wire, Course]:
    """Return every wire's course, on a page of ``width`` pixels. Wires share a track when their stretches, labels
    included, do not overlap."""
    ranked = order(wires, ends)
    places = ports(ranked, ends)
    by_wire: dict[Wire, Course] = {}
    track, taken = 0, list[tuple[float, float]]()
    for wire in ranked:
        course = Course(x1=places[wire.first, wire], x2=places[wire.second, wire], track=track)
        low, high = _reach(course, wire.label)
        if any(low < right + GRID and left < high + GRID for left, right in taken):
            track, taken = track + 1, []
        taken.append((low, high))
        by_wire[wire] = replace(course, track=track)
    return {wire: _labelled(wire, by_wire, ends, width) for wire in ranked}


def _slots(course: Course, label: float) -> tuple[float, float]:
    """Return the bounds for the middle of a label on the stretch. If the stretch is too short, the label may cover one
    or both of its corners, and the line enters the label from above or below."""
    inner = label / 2 - GRID
    if course.right - course.left >= label + 2 * GRID:
        return course.left + label / 2, course.right - label / 2
    return course.left - inner, course.right + inner


def _reach(course: Course, label: float) -> tuple[float, float]:
    """Return the bounds of the stretch and of the area that its label may cover."""
    low, high = _slots(course, label)
    return min(course.left, low - label / 2), max(course.right, high + label / 2)


def _labelled(wire: Wire, by_wire: Mapping[Wire, Course], ends: Mapping[str, End], width: float) -> Course:
    """Return the course with its label where the fewest other wires pass, and as near the middle as possible."""
    course = by_wire[wire]
    passing = [x for other, place in by_wire.items() if other != wire for x in _passing(other, place, course, ends)]
    half = wire.label / 2
    low, high = _slots(course, wire.label)

    def cost(x: float) -> tuple[bool, int, float, float]:
        outside = x - half < _CLEAR or x + half > width - _CLEAR
        covered = sum(x - half - _CLEAR < other < x + half + _CLEAR for other in passing)
        return outside, covered, abs(x - (low + high) / 2), x

    slots = int((high - low) // _STEP)
    return replace(course, label_x=min((low + _STEP * slot for slot in range(slots + 1)), key=cost))


def _passing(other: Wire, place: Course, course: Course, ends: Mapping[str, End]) -> list[float]:
    """Return the positions where the vertical stretches of another wire meet the track of ``course``."""
    return [
        x
        for name, x in ((other.first, place.x1), (other.second, place.x2))
        if (place.track <= course.track if ends[name].lower else place.track >= course.track)
    ]
