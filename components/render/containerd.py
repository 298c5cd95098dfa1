"""containerd's files on a node, which make the site's depot the mirror of all registries. Settings that are the same on
every node are in images/rootfs/etc/containerd/conf.d."""

from __future__ import annotations

from components.model import Environment
from components.model.sites.section import Site
from components.render.documents import HEADER
from components.render.file import File
from contract.documents.depot import PATH as DEPOT_PATH
from contract.documents.depot import SignedDepot

DEPOT_AUTHORITY = "/etc/longhaul/depot-authority.pem"
"""Certificates of the authorities that sign for the depot's server. The role depot_authority writes the same file."""


def depot_files(environment: Environment, site: Site) -> dict[str, File]:
    """Return the files by which a machine uses its site's depot: containerd's; the image verifier's
    (containerd/signed_depot.py) if the environment names the builder's key; and the authority of the depot's server if
    the environment names one."""
    if site.depot is None:
        return {}
    key, authority = environment.depots.key, environment.depots.authority
    files = {"/etc/containerd/certs.d/_default/hosts.toml": registry(site.depot, own_authority=bool(authority))}
    if key is not None:
        depot = SignedDepot(url=site.depot, key=key, authority=DEPOT_AUTHORITY if authority else None)
        files[DEPOT_PATH] = File(content=depot.to_text())
    if authority:
        files[DEPOT_AUTHORITY] = File(content=authority)
    return files


def registry(depot: str, *, own_authority: bool) -> File:
    """Return containerd's registry configuration: it pulls every image from the depot and never from elsewhere. It
    names the intended registry in the query (docs/hosts.md of containerd). ``ca`` is set for the server and for the
    host, which containerd treats as two entries; containerd adds ``ca`` to the system's store
    (core/remotes/docker/config/hosts.go)."""
    ca = f'ca = "{DEPOT_AUTHORITY}"\n' if own_authority else ""
    content = f'server = "{depot}"\n{ca}\n[host."{depot}"]\ncapabilities = ["pull", "resolve"]\n{ca}'
    return File(content=HEADER + content)
