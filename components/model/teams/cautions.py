"""Cautions about teams, and about groups whose people work beside them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from clouds.base.faults import Caution
from components.model.environment import Environment
from contract.reasons.plan import FileReason


def team_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield the cautions about teams' groups and namespaces."""
    yield from _shared_groups(environment)
    if environment.teams:
        yield from _namespaces_of_no_team(environment)


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
