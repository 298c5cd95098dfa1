"""Rules over the resources that a program declares, and what an environment's file says that they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from clouds.base.kinds import without_version
from clouds.base.ranges import Network


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A resource that a program declares, with its inputs as the engine writes them."""

    urn: str
    type: str
    """The type's token, such as ``aws:ec2/instance:Instance``."""
    name: str
    """The URN's last part."""
    inputs: Mapping[str, Any]
    """Properties in the engine's spelling. What is not known before something is made, and what is secret, is as
    :mod:`clouds.base.inputs` says."""

    @property
    def kind(self) -> str:
        """The type, whichever version of its cloud's interface it names."""
        return without_version(self.type)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the environment file says, as far as a rule asks."""

    environment: str
    sites: frozenset[str]
    """Names of its sites."""
    tags: Mapping[str, str]
    """Its own tags, which every resource is to have besides Longhaul's."""
    supernet: IPv4Network
    """Every address of the environment is in it."""
    operators: tuple[IPv4Network, ...]
    """Public ranges that operators and CI come from."""
    public: frozenset[str]
    """Names of resources that an environment needs to have at the internet."""
    destroyable: bool
    """Whether the environment may be destroyed, and its vault purged."""

    def admits(self, source: Network) -> bool:
        """Whether all of ``source`` belongs to the environment or to its operators."""
        return _inside(source, (self.supernet, *self.operators))

    def admits_operator(self, source: Network) -> bool:
        """Whether all of ``source`` belongs to its operators."""
        return _inside(source, self.operators)


def _inside(source: Network, ranges: Sequence[IPv4Network]) -> bool:
    """Whether one of ``ranges`` holds ``source``; everybody is nobody's range, whoever declares it."""
    some = (one for one in ranges if one.prefixlen > 0)
    return isinstance(source, IPv4Network) and any(source.subnet_of(one) for one in some)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule, whichever clouds have what could break it."""

    id: str
    reason: str
    """One sentence: what must hold, and why."""
    source: str
    """Where the rule comes from."""
    waivable: bool = True
    """Whether the environment file may waive it."""


@dataclass(frozen=True, kw_only=True)
class Breach:
    """One thing that is wrong with one resource."""

    what: str
    """What is wrong and where in the resource; never a secret."""
    write: str
    """What to write instead."""


Look = Callable[[Resource, Declared], Iterator[Breach]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """A look at resources of some kinds for what breaks a rule."""

    rule: Rule
    kinds: frozenset[str]
    """The kinds of resources that it looks at; empty for all."""
    look: Look

    def breaches(self, resource: Resource, declared: Declared) -> Iterator[Breach]:
        """What it finds in ``resource``."""
        if not self.kinds or resource.kind in self.kinds:
            yield from self.look(resource, declared)


def unaccounted_address(resource: Resource, declared: Declared) -> Iterator[Breach]:
    """The look at a public address."""
    if resource.name not in declared.public:
        yield Breach(
            what=f"{resource.name} is a public address that no site's egress or IPsec gateway accounts for",
            write="no public address: what is outside comes in by the VPN, what is inside leaves by the site's egress",
        )
