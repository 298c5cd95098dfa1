"""Reconstructs the environment before the change, as far as the state of the changed resources shows it.

On AWS, a pool's group has the smallest and the largest number of its machines. On Azure, the state has only the number
of machines that a scale set began with; the largest number is only in the earlier file (``--base``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clouds.base.pool_section import Pool
from clouds.base.resource_types import ResourceKind
from clouds.registry import clouds
from components.model import Environment, Role
from components.model.control_plane.machines import role_sizes
from components.model.sites.cloud_names import pool_groups
from longhaul.judgement.changes import Change, ResourceAction
from longhaul.judgement.environment_parts import EnvironmentParts
from longhaul.judgement.resource_kinds import kind_of


@dataclass(frozen=True, kw_only=True)
class PreviousEnvironment:
    """The environment before the change."""

    environment: Environment | None
    """None when there was no environment."""
    notes: tuple[str, ...] = ()
    """Sentences that say which facts about the environment are unknown, and where to find them."""


def previous_environment(
    after: Environment, changes: Iterable[Change], places: EnvironmentParts
) -> PreviousEnvironment:
    """Reconstruct the environment that the ``changes`` turned into ``after``."""
    listed = list(changes)
    if any(_begins(change, after) for change in listed):
        return PreviousEnvironment(environment=None)
    notes: list[str] = []
    by_pool: defaultdict[str, list[Change]] = defaultdict(list)
    for change in listed:
        place = places.of(change)
        if place.kind == "pool":
            by_pool[place.part].append(change)
    pools = dict(after.pools)
    for name, pool_changes in by_pool.items():
        pool = _pool(after, name, pool_changes, places, notes)
        if pool is None:
            pools.pop(name, None)
        else:
            pools[name] = pool
    if after.hosts:
        notes.append("The state has no racks' hosts: --base FILE compares them with the earlier file.")
    control = after.control_plane.model_copy(update=_control(after, listed))
    return PreviousEnvironment(
        environment=after.model_copy(update={"pools": pools, "control_plane": control}),
        notes=tuple(notes),
    )


def _begins(change: Change, after: Environment) -> bool:
    """Return whether the change makes the environment's own stack, and not the stack of the objects on its cluster."""
    is_stack = change.type == "pulumi:pulumi:Stack" and change.action is ResourceAction.MAKE
    return is_stack and change.stack == after.name


def role_changes(after: Environment, changes: Iterable[Change], role: Role) -> tuple[list[Change], int]:
    """Return the changes of a role's machines, and the number of machines that the role had before."""
    of_role = [
        change for change in changes if kind_of(change) is ResourceKind.MACHINE and role_of(after, change) is role
    ]
    made = sum(change.action in (ResourceAction.MAKE, ResourceAction.ADOPT) for change in of_role)
    gone = sum(change.action in (ResourceAction.DESTROY, ResourceAction.FORGET) for change in of_role)
    return of_role, _wanted(after, role) - made + gone


def role_of(environment: Environment, change: Change) -> Role | None:
    """Return the role of a machine from its name ``<env>-<role>-<index>``; None for any other name."""
    role, _, index = change.name.removeprefix(f"{environment.name}-").partition("-")
    return Role(role) if role in list(Role) and index.isdigit() else None


def _wanted(environment: Environment, role: Role) -> int:
    return role_sizes(environment).get(role, (0, ""))[0]


def _control(after: Environment, changes: list[Change]) -> dict[str, Any]:
    """Return the parts of the control plane with their earlier counts and machine types."""
    parts: dict[str, Any] = {}
    for role, key in ((Role.ETCD, "members"), (Role.EVENTS, "members"), (Role.API, "servers")):
        of_role, count = role_changes(after, changes, role)
        types = [machine_type for change in of_role if (machine_type := _machine_type(change.before))]
        update: dict[str, Any] = {key: count, **({"machine_type": types[0]} if types else {})}
        parts[role.value] = getattr(after.control_plane, role.value).model_copy(update=update)
    return parts


def _pool(
    after: Environment, name: str, changes: list[Change], places: EnvironmentParts, notes: list[str]
) -> Pool | None:
    """Return a pool before the change; None when it is new."""
    groups = [change for change in changes if kind_of(change) is ResourceKind.POOL]
    declared = after.pools.get(name)
    made = [change for change in groups if change.action in (ResourceAction.MAKE, ResourceAction.ADOPT)]
    if declared is not None and made and len(made) == len(pool_groups(after, name)):
        return None
    machine_type = next(
        (previous for change in changes if (previous := _machine_type(change.before))),
        declared.machine_type if declared is not None else "",
    )
    least, most = _sizes(after, name, groups, machine_type, notes)
    if declared is not None:
        return declared.model_copy(update={"machine_type": machine_type, "min": least, "max": most})
    return Pool.model_construct(site=places.pools.get(name, ""), machine_type=machine_type, min=least, max=most)


def _sizes(after: Environment, name: str, groups: list[Change], machine_type: str, notes: list[str]) -> tuple[int, int]:
    """Return the smallest and the largest number of machines of a pool before the change."""
    declared = after.pools.get(name)
    least, most = (declared.min, declared.max) if declared is not None else (0, 0)
    for change in groups:
        if "maxSize" in change.before:
            least, most = _number(change.before.get("minSize")), _number(change.before.get("maxSize"))
        elif change.action is ResourceAction.DESTROY:
            least += _number(_inner(change.before, "sku").get("capacity"))
            most += _largest(change.type, machine_type)
            notes.append(f"Pool {name}: the state does not have its maximum; counted as {most}. --base FILE shows it.")
        elif change.action in (ResourceAction.MAKE, ResourceAction.ADOPT) and declared is not None:
            most -= next(
                (
                    pool_group.max
                    for pool_group in pool_groups(after, name)
                    if f"{pool_group.resource}-set" == change.name
                ),
                0,
            )
    return least, most


def _largest(type_: str, machine_type: str) -> int:
    """Return the largest number of machines in a group whose maximum is not in the state; 0 when no cloud knows the
    maximum."""
    limits = (cloud.groups.largest(type_, machine_type) for cloud in clouds().values())
    return next((most for most in limits if most is not None), 0)


def _machine_type(inputs: Mapping[str, Any]) -> str:
    """Return the machine type of a machine, a template or a scale set; empty without one."""
    machine_type = (
        _inner(inputs, "hardwareProfile").get("vmSize")
        or inputs.get("instanceType")
        or _inner(inputs, "sku").get("name")
    )
    return machine_type if isinstance(machine_type, str) else ""


def _inner(inputs: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = inputs.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
