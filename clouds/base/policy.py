"""Rules for the resources that a program declares, and the data of an environment's file that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any, Generic

from clouds.base.place import Place, SiteT
from clouds.base.ranges import Network
from clouds.base.resource_types import without_version


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource that a program declares, with its inputs in the engine's form."""

    urn: str
    type: str
    """Type token, such as ``aws:ec2/instance:Instance``."""
    name: str
    """Last part of the URN."""
    inputs: Mapping[str, Any]
    """Properties, with the engine's names. :mod:`clouds.base.inputs` describes how unknown and secret values look."""

    @property
    def kind(self) -> str:
        """Return the type without the version of its cloud's interface."""
        return without_version(self.type)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Data of the environment file that rules need."""

    name: str
    """Name of the environment."""
    sites: frozenset[str]
    """Names of its sites."""
    tags: Mapping[str, str]
    """Tags of the environment, which every resource must have besides Longhaul's own."""
    supernet: IPv4Network
    """Range that holds every address of the environment."""
    operators: tuple[IPv4Network, ...]
    """Public ranges of operators and of CI."""
    operators_inside: tuple[IPv4Network, ...]
    """Private ranges of operators' machines that the file names, which may be outside ``supernet``."""
    public: frozenset[str]
    """Names of resources that must be reachable from the internet."""
    destroyable: bool
    """True when the environment may be destroyed, and its vault purged."""

    def admits(self, source: Network) -> bool:
        """Return whether all of ``source`` belongs to the environment or to its operators."""
        return _inside(source, (self.supernet, *self.operators, *self.operators_inside))

    def admits_operator(self, source: Network) -> bool:
        """Return whether all of ``source`` belongs to its operators."""
        return _inside(source, self.operators)


def _inside(source: Network, ranges: Sequence[IPv4Network]) -> bool:
    """Return whether one of ``ranges`` contains ``source``. A range of the whole internet never counts."""
    some = (range_ for range_ in ranges if range_.prefixlen > 0)
    return isinstance(source, IPv4Network) and any(source.subnet_of(range_) for range_ in some)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule, independent of the clouds that it applies to."""

    id: str
    reason: str
    """The rule in one sentence: what must hold, and why."""
    source: str
    """Source of the rule."""
    waivable: bool = True
    """True when the environment file may waive it."""


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One violation of a rule by one resource."""

    what: str
    """Description of the violation, and its place in the resource; never a secret."""
    write: str
    """Advice: the value to write instead."""


Look = Callable[[Resource, Declared], Iterator[Breach]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """A check of resources of some kinds against one rule."""

    rule: Rule
    kinds: frozenset[str]
    """Kinds of resources that it checks; empty for all."""
    look: Look

    def breaches(self, resource: Resource, declared: Declared) -> Iterator[Breach]:
        """Yield the violations of ``resource``; nothing when the check does not cover its kind."""
        if not self.kinds or resource.kind in self.kinds:
            yield from self.look(resource, declared)


def unaccounted_address(resource: Resource, declared: Declared) -> Iterator[Breach]:
    """Yield a breach for a public address that no site's egress, gateway or VPN machine needs."""
    if resource.name not in declared.public:
        yield Breach(
            what=f"{resource.name} is a public address that no egress, IPsec gateway or `vpn` accounts for",
            write="no public address: traffic comes in through the VPN, and leaves through the site's egress",
        )


class PolicyChecks(Generic[SiteT]):
    """Checks of a cloud's resources against the rules of docs/policy.md. There are none by default."""

    def checks(self) -> tuple[Check, ...]:
        """Return every check of the cloud's resources."""
        return ()

    def public(self, place: Place[SiteT]) -> frozenset[str]:
        """Return the names of the site's own resources that must be reachable from the internet: its egress and its
        IPsec gateway."""
        return frozenset()
