"""Cautions about teams, and about groups whose people work beside them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from clouds.base.faults import Caution
from clouds.base.phrases import word_list
from components.model.environment import Environment
from components.model.pools.capacity_kinds import kinds
from components.model.pools.reservations import BLOCK
from contract.reasons.plan import FileReason


def team_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield the cautions about teams' groups and namespaces."""
    yield from _shared_groups(environment)
    yield from _guaranteed_blocks(environment)
    if environment.teams:
        yield from _namespaces_of_no_team(environment)
        yield from _almost_a_group(environment)


def _shared_groups(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each group that is in several teams: its people choose whose share their jobs use."""
    first: dict[str, str] = {}
    for name, team in environment.teams.items():
        for index, group in enumerate(team.groups):
            earlier = first.setdefault(group, name)
            if earlier != name:
                yield Caution(
                    reason=FileReason.GROUP_IN_TWO_TEAMS,
                    about=f"{name} {group}",
                    at=("teams", name, "groups", index),
                    basis=(("teams", earlier, "groups"),),
                    wrong=f"{group} is in the team {earlier} too: its people use the shares of both",
                    write="a group for each team, or keep it, if that is meant",
                )


def _almost_a_group(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each team's group that `identity.groups` lacks and has almost. Groups need not be there, so
    a mistyped one is a group of nobody."""
    groups = environment.identity.groups
    in_teams = {group for team in environment.teams.values() for group in team.groups}
    for name, team in environment.teams.items():
        for index, group in enumerate(team.groups):
            close = get_close_matches(group, groups.keys() - in_teams, n=1, cutoff=0.85)
            if group not in groups and close:
                yield Caution(
                    reason=FileReason.GROUP_ALMOST_KNOWN,
                    about=f"{name} {group}",
                    at=("teams", name, "groups", index),
                    basis=(("identity", "groups"),),
                    wrong=f"{group} is not in `identity.groups`, and {close[0]} there is in no team",
                    write=f"{close[0]}, if that was meant",
                )


def _guaranteed_blocks(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each kind of which teams are guaranteed more than there is outside of Capacity Blocks."""
    lasting = {
        name: pool
        for name, pool in environment.pools.items()
        if pool.reservation is None or pool.reservation.kind != BLOCK
    }
    blocks = [name for name in environment.pools if name not in lasting]
    always = kinds(environment.model_copy(update={"pools": lasting})) if blocks else {}
    for kind in kinds(environment).values() if blocks else ():
        teams = {name: team.shares.get(kind.name) for name, team in environment.teams.items()}
        gpus = {name: share.gpus for name, share in teams.items() if share is not None}
        least = always[kind.name].gpus if kind.name in always else 0
        total = sum(gpus.values())
        if least < total <= kind.gpus:
            team = next(name for name in reversed(gpus) if gpus[name])
            of_kind = [name for name in blocks if name in kind.sources]
            yield Caution(
                reason=FileReason.BLOCK_GUARANTEED,
                about=kind.name,
                at=("teams", team, "shares", kind.name, "gpus"),
                basis=(("pools",), ("teams",)),
                wrong=f"teams are guaranteed {total:,} gpus of {kind.name} together, and there are {least:,} while the "
                f"Capacity Block of {word_list(of_kind)} is not there",
                write=f"{f'{least:,} together' if least else 'no guarantee'}: teams borrow the block's while it lasts",
            )


def _namespaces_of_no_team(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each namespace that is not a team's, where people may make pods or whose name is almost a
    team's. Pods there are not queued, and take what teams are guaranteed."""
    for group, rights in environment.identity.groups.items():
        for namespace, role in rights.namespaces.items():
            close = get_close_matches(namespace, environment.teams, n=1, cutoff=0.75)
            if namespace in environment.teams or (role == "view" and not close):
                continue
            yield Caution(
                reason=FileReason.NAMESPACE_OF_NO_TEAM,
                about=f"{group} {namespace}",
                at=("identity", "groups", group, "namespaces", namespace),
                basis=(("teams",),),
                wrong=f"{namespace} is no team's namespace: it is made, its pods do not queue, and they take the room "
                "that teams are guaranteed",
                write=f"{close[0]}, if that was meant" if close else "a team's namespace, or keep it, if that is meant",
            )
