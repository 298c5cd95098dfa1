"""Checks of bare-metal hosts: what they need before anything connects to them."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.doctor import PIN
from clouds.base.findings import Finding, ok, warning
from clouds.base.phrases import names
from longhaul.doctor.target import DoctorTarget

SHOWN = 3
"""Number of hosts that are named when many have the same fault."""


def hosts(target: DoctorTarget) -> Iterator[Finding]:
    """Check that all bare-metal hosts have pinned host keys."""
    listed = target.environment.hosts
    if not listed:
        return
    without = [(index, host.name) for index, host in enumerate(listed) if host.host_key is None]
    if not without:
        yield ok(f"all {len(listed)} hosts have pinned host keys", f"hosts in {target.hosts_file}")
        return
    keys = tuple(f"hosts.{index}.host_key in {target.hosts_file}" for index, _ in without)
    named = names((name for _, name in without), most=SHOWN)
    what = f"{len(without)} of {len(listed)} hosts have no pinned host key, so Ansible does not connect: {named}"
    yield warning(what, *keys, do=PIN)
