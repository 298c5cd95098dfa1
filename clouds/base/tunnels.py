"""Tunnels between sites as their gateways report them, and the risks of these gateways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from clouds.base.place import Place, SiteT
from clouds.base.site import SiteBase
from clouds.base.throughput import GatewayChoice, ThroughputLimit
from contract.reasons.plan import FileReason


@dataclass(frozen=True, kw_only=True)
class Risk:
    """One risk of a site."""

    reason: FileReason
    what: str
    """The risk, in one sentence."""
    where: str
    """Key of the file that decides about the risk."""
    why: str
    """Consequence, how long it lasts, and the source."""
    do: str
    pool: str = ""
    """Pool that has the risk; empty when the site itself has it."""
    refused: bool = False
    """True when a plan that introduces the risk is refused, because the cloud forbids such a setup or does not document
    that it works."""


@dataclass(frozen=True, kw_only=True)
class TunnelView:
    """One end of a tunnel, or of a connection with several tunnels, as a cloud's gateway reports it."""

    link: str
    """Link that it belongs to, `<site>-<site>`."""
    site: str
    """Site of the gateway that reports it."""
    name: str
    up: bool
    since: str = ""
    """Time of its last start or change of state, in RFC 3339; empty when unknown."""
    bytes_in: int | None = None
    """Number of bytes received through it; None when the cloud does not count them."""
    bytes_out: int | None = None
    reason: str = ""


def link_of(place: Place[SiteBase], resource: str, links: Iterable[str]) -> str | None:
    """Return the link that a connection was made for, by the connection's name (`components/environment/links.py`);
    None when it does not belong to these links."""
    prefix = place.cloud_name(f"{place.environment}-links-")
    fitting = [link for link in links if resource.startswith(f"{prefix}{link}-")]
    return max(fitting, key=len, default=None)


class SiteTunnels(Generic[SiteT]):
    """Tunnels to a cloud's sites. There are none by default."""

    def ends(self, site: SiteT) -> tuple[str, ...]:
        """Return the labels of the site's tunnel ends. Each end of the other site has a tunnel to each of them, unless
        one of the sites is single. The names of connections contain these labels."""
        return ()

    def is_single(self, site: SiteT) -> bool:
        """Return whether the site has only one connection to each other site, because its gateway would not switch to a
        second one when the first is down."""
        return False

    def gateway_words(self, site: SiteT) -> str:
        """Return words about the cloud's own VPN gateway of the site; empty where there is none."""
        return ""

    def views(self, place: Place[SiteT], links: Sequence[str]) -> list[TunnelView]:
        """Return the tunnels of these links as the site's own gateway reports them; an empty list when no cloud knows
        this gateway. Raise ``CloudError`` when the cloud does not answer."""
        return []

    def addresses(self, site: SiteT) -> int:
        """Return the number of public addresses at which the other site's gateways reach this site."""
        return 0

    def tunnel_limit(self, site: SiteT) -> ThroughputLimit | None:
        """Return the largest throughput of one tunnel at the site's end; None when it is unknown."""
        return None

    def gateway_limit(self, site: SiteT) -> ThroughputLimit | None:
        """Return the largest throughput of all tunnels of the site together; None when it is unknown."""
        return None

    def larger_gateways(self, site: SiteT) -> Sequence[GatewayChoice]:
        """Return the gateways that the site could have instead of its own, the smallest first; empty when its gateway
        is the largest, or no setting chooses it."""
        return ()

    def resize_refusal(self, before: SiteT, after: SiteT) -> str:
        """Return, in one sentence, why the cloud refuses to change the site's VPN gateway from the earlier file's form
        to the later one's; empty when it does not. Both are the same site."""
        return ""

    def risks(self, place: Place[SiteT], others: Mapping[str, SiteBase]) -> Iterator[Risk]:
        """Yield the risks of the site's own gateway. ``others`` are the sites to which it has tunnels."""
        yield from ()
