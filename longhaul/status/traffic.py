"""Sums what the gateways of an on-premises site count of a link. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.model.network.links import PlannedLink
from longhaul.status.racks import Knock

if TYPE_CHECKING:
    from components.model import Environment


def carried(environment: Environment, link: PlannedLink, knocks: Mapping[str, Knock]) -> tuple[int, int] | None:
    """Return the bytes that the link's first on-premises site has received and sent, or None when none of its gateways
    counted. A tunnel's count begins anew with its keys, which live for less than an hour (``playbooks/roles/gateway``).
    """
    for site, far in ((link.first, link.second), (link.second, link.first)):
        told = [
            [count for count in counts if count[0].startswith(f"{far}-{gateway.name}-")]
            for gateway in environment.sites[site].gateways
            if (knock := knocks.get(f"{environment.name}-{gateway.name}")) and (counts := knock.carried) is not None
        ]
        if told:
            found = [count for counts in told for count in counts]
            return sum(came for _, came, _ in found), sum(went for _, _, went in found)
    return None
