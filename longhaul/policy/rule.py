"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from longhaul.policy.declared import Declared
from longhaul.policy.resource import Resource


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong with one resource."""

    what: str
    """What is wrong and where in the resource; never a secret."""
    write: str
    """What to write instead."""


Look = Callable[[Resource, Declared], Iterator[Fault]]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule over resources of some kinds."""

    id: str
    reason: str
    """One sentence: what must hold, and why."""
    source: str
    """Where the rule comes from."""
    kinds: frozenset[str]
    """The kinds of resources that it looks at; empty for all."""
    look: Look
    waivable: bool = True
    """Whether the environment file may waive it."""

    def faults(self, resource: Resource, declared: Declared) -> Iterator[Fault]:
        """What it finds in ``resource``."""
        if not self.kinds or resource.kind in self.kinds:
            yield from self.look(resource, declared)
