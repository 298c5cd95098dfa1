"""Checks, in every cloud, that only the environment's own addresses and its operators' ranges may send inbound
traffic."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from clouds.base.inputs import is_unknown, unseen
from clouds.base.openvpn import PORT, SIGN_IN_PORT
from clouds.base.policy import Breach, Declared, Resource
from clouds.base.ranges import parse_range

ANYONE = ("*", "any", "internet", "0.0.0.0/0", "::/0")
"""Sources that mean the whole internet, in lower case."""

IPSEC_PORTS = frozenset({"500", "4500"})
"""UDP ports of IKE, and of ESP behind NAT (RFC 7296, 2; RFC 3948, 2.1)."""

ESP = ("esp", "50")
"""Protocol ESP, by its name in Azure and by its number (IANA, "Protocol Numbers")."""


@dataclass(frozen=True, kw_only=True)
class Ingress:
    """One rule that allows inbound traffic."""

    place: str
    """Path of the rule in its resource; empty when the rule is a resource of its own."""
    sources: tuple[str, ...]
    protocol: str
    ports: frozenset[str]
    """Ports or port ranges, as they are written."""

    @property
    def is_ipsec(self) -> bool:
        """Return whether the rule allows only IKE and ESP. These end at a gateway that authenticates its peers by their
        keys."""
        if self.protocol.lower() in ESP:
            return True
        return self.protocol.lower() == "udp" and bool(self.ports) and self.ports <= IPSEC_PORTS

    @property
    def is_laptops(self) -> bool:
        """Return whether the rule allows only the laptops' VPN: OpenVPN, or the sign-in for OpenVPN."""
        doors = {("udp", str(PORT)), ("tcp", str(SIGN_IN_PORT))}
        return bool(self.ports) and {(self.protocol.lower(), port) for port in self.ports} <= doors


def ingress_breaches(
    resource: Resource, declared: Declared, rules: Iterable[Ingress], *, key: str, internal: Container[str] = ()
) -> Iterator[Breach]:
    """Yield a breach for each source in ``rules`` that the environment does not declare. ``key`` is the property in
    which a resource lists its rules. ``internal`` holds source names, such as service tags, that mean only the
    environment's own addresses."""
    if unseen(resource.inputs, key):
        yield Breach(
            what=f"{key} cannot be judged before it is made", write="rules with values that are known in advance"
        )
    laptops = resource.name in declared.public
    for rule in rules:
        if rule.is_ipsec or (laptops and rule.is_laptops):
            continue
        for source in rule.sources:
            wrong = _wrong(source, declared, internal)
            if wrong:
                yield Breach(
                    what=f"{rule.place}: {wrong}" if rule.place else wrong,
                    write=f"a source inside {declared.supernet}, or a range that access.operators (public) or "
                    "access.operators_inside (private) declares",
                )


def _wrong(source: str, declared: Declared, internal: Container[str]) -> str:
    """Return what is wrong with a source; empty when nothing is."""
    if source.lower() in ANYONE:
        return f"lets in {source}, which is everyone"
    if is_unknown(source):
        return "lets in a source that is not known before it is made"
    network = parse_range(source)
    if network is None:
        return "" if source in internal else f"lets in {source}, whose addresses are not only the environment's"
    return "" if declared.admits(network) else f"lets in {source}, which the environment does not declare"
