"""Checks that no namespace answers for a top-level domain.

The domains that a pod searches make it look up `name.ai` as `name.ai.svc.cluster.local` first, since `name.ai` has
fewer dots than `ndots:5` (kubernetes.io, "DNS for Services and Pods", "Namespaces of Services"). Whoever may make
Services in a namespace `ai` would answer for `name.ai` and `www.name.ai` in the pods of everybody (kubernetes.io,
"Namespaces", "Namespaces and DNS"; CoreDNS 1.14.5, ``plugin/kubernetes/parse.go``: service and endpoint).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from clouds.base.faults import Caution, Fault, Location
from components.model.environment import Environment
from components.model.network.domain_checks import LINK_LOCAL, PRIVATE, named_hosts
from contract.reasons.plan import FileReason

CLUSTERS = ("svc", "pod")
"""Labels in names of Services and pods: pods shorten `kubernetes.default.svc.cluster.local` to
`kubernetes.default.svc`, for which a namespace `svc` would answer."""
LOOPBACK = "localhost"
"""Top-level domain of each machine's own loopback addresses (RFC 6761, section 6.3)."""


def check_namespaces(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each namespace in which people may make Services, and which answers for a top-level domain."""
    shadowed = _shadowed(environment)
    for at, name, people in _namespaces(environment):
        if people and name in shadowed:
            wrong = f"{_effect(name)}, and people of {people} may make one"
            yield Fault(at=at, wrong=wrong, write=_instead(name), basis=shadowed[name])


def namespace_cautions(environment: Environment) -> Iterator[Caution]:
    """Yield a caution for each namespace in which administrators alone make Services, and which answers for a top-level
    domain."""
    shadowed = _shadowed(environment)
    for at, name, people in _namespaces(environment):
        if not people and name in shadowed:
            yield Caution(
                reason=FileReason.NAMESPACE_HIDES_DOMAIN,
                about=" ".join(map(str, at)),
                at=at,
                basis=shadowed[name],
                wrong=_effect(name),
                write=_instead(name),
            )


def _effect(name: str) -> str:
    return f"all pods look up X.{name} in this namespace first, and would take a Service X here for that server"


def _instead(name: str) -> str:
    return f"another name, such as {name}-team"


def _namespaces(environment: Environment) -> Iterator[tuple[Location, str, str]]:
    """Yield each namespace of the file with its place, and who may make Services there besides administrators."""
    for name in environment.teams:
        yield ("teams", name), name, "the team"
    for group, rights in environment.identity.groups.items():
        for name, role in rights.namespaces.items():
            yield ("identity", "groups", group, "namespaces", name), name, "" if role == "view" else group
    for index, name in enumerate(environment.pod_security.exempt_namespaces):
        yield ("pod_security", "exempt_namespaces", index), name, ""


def _shadowed(environment: Environment) -> Mapping[str, tuple[Location, ...]]:
    """Return the names that no namespace should have, each with the place in the file from which it follows."""
    zones = (
        (("sites", name, "private_zones", index), zone)
        for name, site in environment.sites.items()
        for index, zone in enumerate(site.private_zones)
    )
    names: tuple[tuple[Location, str], ...] = ((("domain",), environment.domain), *named_hosts(environment), *zones)
    tops = {name.rpartition(".")[2]: (at,) for at, name in names}
    return {**tops, **dict.fromkeys((*top_level_domains(), *PRIVATE, LINK_LOCAL, LOOPBACK, *CLUSTERS), ())}


@cache
def top_level_domains() -> frozenset[str]:
    """Return IANA's top-level domains in lower case. The file beside this module names its source and its date."""
    lines = Path(__file__).with_name("top_level_domains.txt").read_text(encoding="ascii").splitlines()
    return frozenset(line.lower() for line in lines if not line.startswith("#"))
