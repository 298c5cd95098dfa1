"""The engine's name of a resource: the types of its parents, its own type, its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pulumi import Output

from components.model import Environment, plan
from components.objects.cluster import ClusterObjects
from tests.support.declared import Declared, declare
from tests.support.whole import CA, declare_whole, with_few_machines

ROLE = "arn:aws:iam::123456789012:role/node-controller"
ENGINE_S_OWN = ("pulumi:pulumi:", "pulumi:providers:")
Program = tuple[Declared, ...]


def name_of(urn: str) -> str:
    """Return a URN without the stack and the project: ``longhaul:Cluster$longhaul:Links::lab-links``."""
    return urn.split("::", 2)[2]


def is_kept(urn: str) -> bool:
    """Return whether it is a cloud's resource, not a component or one of the engine's own."""
    own = name_of(urn).split("::")[0].split("$")[-1]
    return not own.startswith((*ENGINE_S_OWN, "longhaul:"))


def declared(environment: Environment) -> Program:
    """Declare both stacks of an environment without an engine, with one machine of each kind."""

    def objects() -> Mapping[str, Any]:
        role, authority = Output.from_input(ROLE), Output.from_input(CA)
        ClusterObjects(environment, plan(environment), node_controller_role=role, kubernetes_ca=authority)
        return {}

    return (*declare_whole(with_few_machines(environment)).resources, *declare(objects).resources)


def names(program: Program) -> list[str]:
    """Return the names of all resources in a cloud."""
    return sorted(name_of(one.urn) for one in program if is_kept(one.urn))


def lost(known: Iterable[str], program: Program) -> list[str]:
    """Return the names that the program neither declares nor takes over by an alias."""
    missing = set(known) - set(names(program))
    if missing:
        by_urn = {one.urn: one for one in program}
        missing -= {name for one in program if is_kept(one.urn) for name in _ever(one, by_urn)}
    return sorted(missing)


def _ever(one: Declared, by_urn: Mapping[str, Declared]) -> set[str]:
    """Return every name by which the engine knows a resource: its own, its aliases, each below every name of its parent
    (pulumi, ``sdk/nodejs/resource.ts``, ``allAliases`` and ``inheritedChildAlias``)."""
    found = {name_of(one.urn)}
    selves = [(one.name, one.type, one.parent)]
    for alias in one.aliases:
        if alias.urn:
            found.add(name_of(alias.urn))
            continue
        spec = alias.spec
        parent = "" if spec.noParent else spec.parentUrn or one.parent
        selves.append((spec.name or one.name, spec.type or one.type, parent))
    for name, type_, parent in selves:
        if name_of(parent or one.urn).startswith("pulumi:pulumi:Stack") or not parent:
            found.add(f"{type_}::{name}")
            continue
        today = parent.rpartition("::")[2]
        for above in _ever(by_urn[parent], by_urn) if parent in by_urn else {name_of(parent)}:
            chain, _, was = above.partition("::")
            found.add(f"{chain}${type_}::{was + name.removeprefix(today) if name.startswith(today) else name}")
    return found
