"""Directives of CoreDNS that the cluster's servers and the nodes' caches share."""

from __future__ import annotations

from components.model import AddressPlan, Environment
from components.model.network.api_address import api_address
from contract.node_dns import ATTEMPTS, PLACES


def api_directive(environment: Environment, addresses: AddressPlan) -> str:
    """Return the directive that answers for the API's name, without a file (CoreDNS 1.14, plugin/hosts)."""
    return f"""\
    hosts /dev/null {environment.api_name} {{
        {api_address(environment, addresses)} {environment.api_name}
        ttl 30
        no_reverse
        reload 0s
    }}
"""


def forward_directive(resolver: str) -> str:
    """Return the directive that passes questions on to a file's resolvers, within the limits of ``contract.node_dns``
    (CoreDNS 1.14, plugin/forward)."""
    return f"""\
    forward . {resolver} {{
        max_concurrent {PLACES}
        max_connect_attempts {ATTEMPTS}
    }}
"""
