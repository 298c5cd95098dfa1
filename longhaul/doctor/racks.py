"""Sites of one's own: what their gateways and hosts have to have before anything reaches them."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.findings import Finding, ok, problem, warning
from clouds.onprem.site import OnpremSite
from longhaul.doctor.subject import Subject
from longhaul.report.text import names

SHOWN = 3
"""Hosts that are named, where many have the same wrong with them."""

PIN = "read it at the console, or scan it (`ssh-keyscan`), and write it as `host_key` (docs/racks.md)"


def gateways(subject: Subject) -> Iterator[Finding]:
    """Addresses that the clouds' gateways can reach, and pinned host keys."""
    for name, site in subject.environment.sites.items():
        for index, gateway in enumerate(site.gateways if isinstance(site, OnpremSite) else ()):
            key = ("sites", name, "gateways", index)
            # A lab's addresses are public inside it.
            if not gateway.public_address.is_global and not subject.lab:
                yield problem(
                    f"{gateway.public_address} of the gateway {gateway.name} is not a public address",
                    subject.at(*key, "public_address"),
                    do="the static address under which the internet reaches it",
                )
            else:
                what = f"the gateway {gateway.name} has a public address, {gateway.public_address}"
                yield ok(what, subject.at(*key, "public_address"))
            if gateway.host_key is None:
                what = f"the gateway {gateway.name} has no pinned host key: Ansible does not connect to it"
                yield warning(what, subject.at(*key, "host_key"), do=PIN)


def hosts(subject: Subject) -> Iterator[Finding]:
    """Pinned host keys of bare-metal hosts."""
    listed = subject.environment.hosts
    if not listed:
        return
    without = [(index, host.name) for index, host in enumerate(listed) if host.host_key is None]
    if not without:
        yield ok(f"all {len(listed)} hosts have pinned host keys", f"hosts in {subject.hosts_file}")
        return
    keys = tuple(f"hosts.{index}.host_key in {subject.hosts_file}" for index, _ in without)
    named = names((name for _, name in without), most=SHOWN)
    what = f"{len(without)} of {len(listed)} hosts have no pinned host key, so Ansible does not connect: {named}"
    yield warning(what, *keys, do=PIN)
