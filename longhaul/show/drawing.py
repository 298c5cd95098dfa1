"""Draws sites and links in characters: a column for each cloud, a column for the on-premises sites, and a rail that
connects the columns.

All sites are linked in pairs, so a line for each link would hide the structure: six sites have fifteen links. By
default, all links inside a column are of one kind and all links between columns are of another kind, so one line
represents all links of a kind. A link of another kind is named below the drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clouds.base.phrases import counted
from components.model.control_plane.machines import Role
from components.model.network.links import LinkKind, PlannedLink
from longhaul.report.text import INDENT, WIDTH, clip, table
from longhaul.show.counts import total
from longhaul.show.overview import Overview, PoolOverview, SiteView, folded, where

GAP = 3
"""Character columns between two boxes."""

FRAME = 4
"""Number of character columns that a box's frame takes."""

JOINT = 4
"""Character column of a box at which lines meet it."""

NAMES = {LinkKind.BACKBONE: "backbone", LinkKind.IPSEC: "IPsec", LinkKind.EXISTING: "existing circuit"}
"""Names of the kinds of links, for people."""

_UPRIGHT = {LinkKind.BACKBONE: "║", LinkKind.IPSEC: "┆", LinkKind.EXISTING: "┃"}
_RAIL = {LinkKind.IPSEC: ("┌", "┄", "┬", "┐"), LinkKind.EXISTING: ("┏", "━", "┳", "┓")}


@dataclass(frozen=True, kw_only=True)
class _Box:
    title: str
    content: tuple[str, ...]

    @property
    def width(self) -> int:
        """Return the number of character columns that the whole content needs."""
        return max(len(self.title) + 2, *(len(line) for line in self.content)) + FRAME

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of the box, ``width`` character columns wide."""
        inner = width - FRAME
        yield f"┌─ {clip(self.title, inner - 2)} ".ljust(width - 1, "─") + "┐"
        yield from (f"│ {clip(line, inner).ljust(inner)} │" for line in self.content)
        yield "└" + "─" * (width - 2) + "┘"


@dataclass(frozen=True, kw_only=True)
class _Column:
    """Sites of one cloud, one below the other."""

    boxes: tuple[_Box, ...]
    kind: LinkKind | None
    """Kind of the links between its sites; ``None`` for a single site."""

    @property
    def width(self) -> int:
        """Return the number of character columns that the whole content needs."""
        return max(*(box.width for box in self.boxes), len(self._joint(named=True)))

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of the column, each ``width`` character columns wide."""
        for index, box in enumerate(self.boxes):
            if index:
                # The kind of link is written only once.
                yield clip(self._joint(named=index == 1), width).ljust(width)
            yield from box.lines(width)

    def _joint(self, *, named: bool) -> str:
        """Return the line between two boxes; empty in a column of one box."""
        if self.kind is None:
            return ""
        whom = ", each to each" if len(self.boxes) > 2 else ""
        return " " * JOINT + _UPRIGHT[self.kind] + (f" {NAMES[self.kind]}{whom}" if named else "")


def drawing(overview: Overview, *, pools: int | None) -> list[str]:
    """Return the drawing, with at most ``pools`` pools for each site; with ``None``, all pools."""
    kinds = list(dict.fromkeys(site.kind for site in overview.sites))
    columns = [_column(overview, kind, pools=pools) for kind in kinds]
    widths = _widths([column.width for column in columns], room=WIDTH - len(INDENT) - GAP * (len(columns) - 1))
    across = _across(overview)
    lines = [] if across is None else _rail(across, widths)
    blank = [" " * width for width in widths]
    stacks = [list(column.lines(width)) for column, width in zip(columns, widths, strict=True)]
    for row in zip_longest(*stacks):
        cells = (cell or empty for cell, empty in zip(row, blank, strict=True))
        lines.append((INDENT + (" " * GAP).join(cells)).rstrip())
    return [*lines, *_exceptions(overview, across)]


def _column(overview: Overview, kind: str, *, pools: int | None) -> _Column:
    sites = [site for site in overview.sites if site.kind == kind]
    boxes = tuple(_Box(title=site.name, content=tuple(_content(overview, site, pools=pools))) for site in sites)
    return _Column(boxes=boxes, kind=_inside(overview, kind))


def _content(overview: Overview, site: SiteView, *, pools: int | None) -> Iterator[str]:
    yield where(site)
    yield str(site.block)
    if site.control_plane:
        count = {role.role: len(role.machines) for role in overview.control_plane.roles}
        yield "control plane:"
        yield f"  {count[Role.API]} API, {count[Role.ETCD]} etcd, {count[Role.EVENTS]} events"
    yield from _pools([pool for pool in overview.pools if pool.site == site.name], most=pools)
    for onprem in overview.hosts:
        if onprem.site == site.name:
            gpus = total(each.count for each in onprem.gpus)
            yield f"{counted(onprem.hosts, 'host')}, {gpus} GPUs" if gpus.max else counted(onprem.hosts, "host")
            yield from (f"gateway {gateway.public_address}" for gateway in onprem.gateways)


def _pools(pools: Sequence[PoolOverview], *, most: int | None) -> Iterator[str]:
    """Yield a line for each pool: name, number of machines, GPUs of each machine."""
    shown = folded(pools, most)
    gpus = [f"{pool.gpus_each}×{pool.gpus.model or 'GPU'}" if pool.gpus_each else "" for pool in shown]
    rows = [(pool.name, str(pool.nodes), each) for pool, each in zip(shown, gpus, strict=True)]
    yield from table((), rows, indent="", width=None)
    if len(shown) < len(pools):
        yield f"and {counted(len(pools) - len(shown), 'more pool')}"


def _widths(natural: Sequence[int], *, room: int) -> list[int]:
    """Return a width for each column: its natural width if all columns fit into ``room``; otherwise the wide columns
    share the room that the narrow columns leave."""
    widths = list(natural)
    if sum(widths) <= room:
        return widths
    order = sorted(range(len(widths)), key=lambda index: natural[index])
    for place, index in enumerate(order):
        widths[index] = min(natural[index], room // (len(order) - place))
        room -= widths[index]
    return widths


def _rail(kind: LinkKind, widths: Sequence[int]) -> list[str]:
    """Return the lines that connect the columns, from above: the name, the rail, and a line down to each column."""
    left, along, joint, right = _RAIL[kind]
    joints = [len(INDENT) + sum(widths[:index]) + GAP * index + JOINT for index in range(len(widths))]
    marks = dict.fromkeys(joints[1:-1], joint) | {joints[0]: left, joints[-1]: right}
    row = "".join(marks.get(place, along) for place in range(joints[0], joints[-1] + 1))
    down = "".join(_UPRIGHT[kind] if place in marks else " " for place in range(joints[-1] + 1))
    name = f"{NAMES[kind]}, each site to each site of the other columns"
    return [INDENT + name, " " * joints[0] + row, down]


def _between(overview: Overview) -> dict[PlannedLink, tuple[str, str]]:
    """Return every link with the clouds of its two sites."""
    kinds = {site.name: site.kind for site in overview.sites}
    return {link: (kinds[link.first], kinds[link.second]) for link in overview.links}


def _across(overview: Overview) -> LinkKind | None:
    """Return the kind of link between the columns; ``None`` for a single column."""
    return _drawn(link.kind for link, (first, second) in _between(overview).items() if first != second)


def _inside(overview: Overview, kind: str) -> LinkKind | None:
    return _drawn(link.kind for link, ends in _between(overview).items() if ends == (kind, kind))


def _drawn(kinds: Iterable[LinkKind]) -> LinkKind | None:
    """Return the kind that a line represents: the kind that Longhaul makes, if any, else existing circuits."""
    present = set(kinds)
    made = present - {LinkKind.EXISTING}
    return next(iter(made or present), None)


def _exceptions(overview: Overview, across: LinkKind | None) -> Iterator[str]:
    """Yield the links whose kind differs from the kind of their line: the user's own circuits."""
    for link, (first, second) in _between(overview).items():
        drawn = across if first != second else _inside(overview, first)
        if link.kind is not drawn:
            yield f"{INDENT}but {link.first} to {link.second}: {NAMES[link.kind]}"
