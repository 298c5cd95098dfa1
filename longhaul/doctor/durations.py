"""What takes long of what an environment makes: only figures that have a source."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.azure.site import AzureSite
from clouds.base.findings import Finding, ok
from components.model.links import has_tunnels
from longhaul.doctor.subject import Subject


def durations(subject: Subject) -> Iterator[Finding]:
    """VPN gateways (components/azure/vpn.py, docs/getting-started.md, 7) and role assignments
    (components/control_plane/secrets.py, by learn.microsoft.com, "Troubleshoot Azure RBAC")."""
    sites = subject.environment.sites
    gateways = [
        name for name, site in sites.items() if isinstance(site, AzureSite) and has_tunnels(subject.environment, name)
    ]
    if gateways:
        what = "making a VPN gateway takes Azure half an hour or more; everything else goes on meanwhile"
        yield ok(what, *subject.sites(*gateways))
    if isinstance(sites[subject.environment.control_plane.site], AzureSite):
        what = "role assignments take up to ten minutes to come into force on Azure: the first `up` waits for them"
        yield ok(what, *subject.sites(subject.environment.control_plane.site))
