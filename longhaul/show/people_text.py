"""Renders people's rights: a section for people, and a section for teams."""

from __future__ import annotations

from collections.abc import Iterator

from longhaul.report.text import INDENT, table, wrapped
from longhaul.show.people import PeopleView, ShareView


def people_lines(people: PeopleView) -> Iterator[str]:
    """Return the lines about issuers, groups and laptops; none when people sign in only with certificates."""
    if people.issuers:
        yield from table(("ISSUER", "URL"), [(issuer.name, issuer.url) for issuer in people.issuers])
    if people.groups:
        rows = [
            (group.name, group.everywhere or "-", ", ".join(group.namespaces) or "-", "yes" if group.vpn else "-")
            for group in people.groups
        ]
        yield from table(("GROUP", "EVERYWHERE", "NAMESPACES", "LAPTOPS"), rows)
    if vpn := people.vpn:
        sentence = f"laptops connect to {vpn.name or 'the VPN machines'} from {', '.join(vpn.sources)}"
        yield from wrapped(f"{sentence}, tunnels in {vpn.tunnels}", indent=INDENT)


def team_lines(people: PeopleView, *, queues: bool) -> Iterator[str]:
    """Return the lines about teams, a line for each kind of capacity."""
    if queues and not people.teams:
        yield f"{INDENT}jobs may queue (Kueue, JobSet); no team is declared"
    rows: list[tuple[str, ...]] = []
    for team in people.teams:
        first = (team.name, str(team.priority), ", ".join(team.groups))
        for share in team.shares:
            rows.append((*first, share.kind, _guaranteed(share), _bound(share.borrow), _bound(share.lend)))
            first = ("", "", "")
    if rows:
        yield from table(("TEAM", "PRIORITY", "GROUPS", "KIND", "GUARANTEED", "BORROWS", "LENDS"), rows)


def _guaranteed(share: ShareView) -> str:
    cores = f"{share.cores:,} cores" if share.cores else ""
    gpus = f"{share.gpus:,} GPUs" if share.gpus else ""
    return ", ".join(filter(None, (gpus, cores))) or "-"


def _bound(most: int | None) -> str:
    return "all" if most is None else f"{most:,}" if most else "-"
