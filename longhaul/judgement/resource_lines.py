"""Renders a plan's parts as lines: equal places are described once, equal resources are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clouds.base.phrases import counted
from longhaul.judgement.changes import ResourceAction
from longhaul.judgement.environment_parts import LINKS, EnvironmentPart
from longhaul.judgement.masking import LATER
from longhaul.judgement.plan import PlaceChanges, Plan, ResourceLine
from longhaul.judgement.properties import Property
from longhaul.report.resource_types import type_name

SIGNS = {
    ResourceAction.MAKE: "+",
    ResourceAction.ADOPT: ">",
    ResourceAction.CHANGE: "~",
    ResourceAction.REPLACE: "!",
    ResourceAction.DESTROY: "-",
    ResourceAction.FORGET: "<",
    ResourceAction.CLEAR: "x",
}
"""Sign shown before a resource."""

WORDS = {
    ResourceAction.MAKE: "made",
    ResourceAction.ADOPT: "taken over",
    ResourceAction.CHANGE: "changed",
    ResourceAction.REPLACE: "replaced",
    ResourceAction.DESTROY: "destroyed",
    ResourceAction.FORGET: "let go of",
    ResourceAction.CLEAR: "cleared away",
}

_COUNTED = (ResourceAction.MAKE, ResourceAction.DESTROY, ResourceAction.CLEAR)
"""Actions that are reported only as a number of resources by type, without details."""


_BY_NAME = 3
"""Largest number of resources with the same change that are shown by name."""

_FORCES, _MAYBE = " (replaces it)", " (replaces it, unless the value turns out to be the same)"


@dataclass(frozen=True, kw_only=True)
class Block:
    """One place, or several places with the same changes."""

    site: str
    title: str
    lines: tuple[str, ...]
    counts: str


def summary(plan: Plan) -> str:
    """Return the number of resources made, changed and so on, in words."""
    if plan.keys is not None:
        return f"{counted(plan.keys, 'key')} of the file {'differs' if plan.keys == 1 else 'differ'}"
    counts = [f"{plan.counts[action]:,} {word}" for action, word in WORDS.items() if plan.counts.get(action)]
    unchanged = f"{plan.same:,} as they are" if plan.same else ""
    groups = f" ({counted(plan.groups, 'group')} among them)" if plan.groups else ""
    return (", ".join(counts) + groups + (", " if counts and unchanged else "") + unchanged) or "nothing happens"


def blocks(plan: Plan) -> tuple[Block, ...]:
    """Return what happens, place by place."""
    listed: list[Block] = []
    waiting: list[tuple[PlaceChanges, tuple[str, ...]]] = []
    for part in plan.parts:
        body = tuple(_body(part))
        if waiting and not _alike(waiting[-1], part, body):
            listed.append(_block(waiting))
            waiting = []
        if body:
            waiting.append((part, body))
    return (*listed, *([_block(waiting)] if waiting else []))


def _alike(last: tuple[PlaceChanges, tuple[str, ...]], part: PlaceChanges, body: tuple[str, ...]) -> bool:
    place, other = last[0].place, part.place
    return bool(place.kind) and (place.site, place.kind) == (other.site, other.kind) and last[1] == body


def _block(alike: list[tuple[PlaceChanges, tuple[str, ...]]]) -> Block:
    places = [part.place for part, _ in alike]
    number = Counter(line.action for part, _ in alike for line in part.lines if not line.component)
    counts = ", ".join(f"{number[action]} {word}" for action, word in WORDS.items() if number[action])
    return Block(site=places[0].site, title=_title(places), lines=alike[0][1], counts=counts)


def _title(places: list[EnvironmentPart]) -> str:
    first = places[0]
    if not first.kind:
        return first.site
    noun = first.kind if len(places) == 1 else f"{first.kind}s"
    where = "" if first.site == LINKS else f"{first.site}: "
    return f"{where}{noun} {', '.join(place.part for place in places)}"


def _body(part: PlaceChanges) -> Iterator[str]:
    """Yield the lines of one place: changes in full, other actions as numbers."""
    shown = [line for line in part.lines if not line.component or line.properties]
    alike: dict[tuple[ResourceAction, tuple[Property, ...]], list[ResourceLine]] = {}
    for line in shown:
        if line.action not in _COUNTED:
            alike.setdefault((line.action, line.properties), []).append(line)
    for lines in alike.values():
        yield from _change_lines(lines, part.place)
    for action in _COUNTED:
        types = Counter(type_name(line.type) for line in shown if line.action is action)
        if types:
            yield f"{SIGNS[action]} {WORDS[action]}: {', '.join(_several(types))}"


def _change_lines(lines: list[ResourceLine], place: EnvironmentPart) -> Iterator[str]:
    """Yield the lines of resources with the same change: a few by name, many by number; details appear once."""
    first = lines[0]
    if len(lines) > _BY_NAME:
        types = Counter(type_name(line.type) for line in lines)
        yield f"{SIGNS[first.action]} {WORDS[first.action]}: {', '.join(_several(types))}"
    else:
        yield from (_headline(line, place) for line in lines)
    yield from _properties(first)


def _headline(line: ResourceLine, place: EnvironmentPart) -> str:
    """Return sign, type and action, and the name unless the place already says it."""
    name = line.name.removeprefix(place.part).lstrip("-") if place.part else line.name
    return f"{SIGNS[line.action]} {type_name(line.type)}{f' {name}' if name else ''} {WORDS[line.action]}"


def _properties(line: ResourceLine) -> Iterator[str]:
    for property_ in line.properties:
        forces = "" if not property_.replaces else _MAYBE if property_.after == LATER else _FORCES
        change = (
            property_.after if property_.lines or not property_.before else f"{property_.before} -> {property_.after}"
        )
        yield f"    {property_.path}: {change}{forces}"
        yield from (f"      {text}" for text in property_.lines)
    if line.action is ResourceAction.REPLACE and not line.properties:
        yield "    because of its dependencies"


def _several(types: Counter[str]) -> Iterable[str]:
    return (name if number == 1 else f"{number} {name}" for name, number in sorted(types.items()))
