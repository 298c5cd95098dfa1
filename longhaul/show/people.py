"""Facts about people's rights in an environment: sign-in, laptops, and teams with their shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from components.model import AddressPlan, Environment
from components.model.vpn.section import Vpn


@dataclass(frozen=True, kw_only=True)
class IssuerView:
    """An identity provider."""

    name: str
    url: str


@dataclass(frozen=True, kw_only=True)
class GroupAccess:
    """Rights of a group of people."""

    name: str
    everywhere: str
    """Role in the whole cluster; empty for none."""
    namespaces: tuple[str, ...]
    """Roles in namespaces, such as ``edit in research``."""
    vpn: bool
    """True when its members' laptops may connect to the VPN."""


@dataclass(frozen=True, kw_only=True)
class VpnView:
    """The VPN for laptops."""

    name: str
    """Public name of both machines; empty when laptops use their addresses."""
    sources: tuple[str, ...]
    """Public ranges from which laptops may connect."""
    tunnels: IPv4Network
    """Addresses inside the tunnels."""


@dataclass(frozen=True, kw_only=True)
class ShareView:
    """A team's share of one kind of capacity. ``None`` means no limit; for ``cores``, it means the cores that belong to
    the GPUs."""

    kind: str
    gpus: int
    cores: int | None
    borrow: int | None
    lend: int | None


@dataclass(frozen=True, kw_only=True)
class TeamView:
    """A team."""

    name: str
    priority: int
    groups: tuple[str, ...]
    shares: tuple[ShareView, ...]


@dataclass(frozen=True, kw_only=True)
class PeopleView:
    """Sign-in, laptops and teams of an environment."""

    issuers: tuple[IssuerView, ...]
    groups: tuple[GroupAccess, ...]
    vpn: VpnView | None
    teams: tuple[TeamView, ...]


def people(environment: Environment, addresses: AddressPlan) -> PeopleView:
    """Return people's rights according to the environment's file."""
    identity = environment.identity
    return PeopleView(
        issuers=tuple(IssuerView(name=name, url=issuer.url) for name, issuer in identity.issuers.items()),
        groups=tuple(
            GroupAccess(
                name=name,
                everywhere=rights.everywhere or "",
                namespaces=tuple(f"{role} in {namespace}" for namespace, role in rights.namespaces.items()),
                vpn=rights.vpn,
            )
            for name, rights in identity.groups.items()
        ),
        vpn=_vpn(environment.vpn, addresses) if environment.vpn else None,
        teams=tuple(_teams(environment)),
    )


def _vpn(vpn: Vpn, addresses: AddressPlan) -> VpnView:
    return VpnView(name=vpn.name or "", sources=tuple(map(str, vpn.sources)), tunnels=addresses.laptops)


def _teams(environment: Environment) -> Iterator[TeamView]:
    for name, team in environment.teams.items():
        shares = tuple(
            ShareView(kind=kind, gpus=share.gpus, cores=share.cores, borrow=share.borrow, lend=share.lend)
            for kind, share in team.shares.items()
        )
        yield TeamView(name=name, priority=team.priority, groups=team.groups, shares=shares)
