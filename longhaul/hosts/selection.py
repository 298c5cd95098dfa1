"""Selects the machines of a run, and their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

from longhaul.racks.inventory import GATEWAYS, NODES, OnpremMachine, site_group
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import MachineShare


def select(machines: Sequence[OnpremMachine], pattern: str | None) -> list[OnpremMachine]:
    """Return the machines that match a pattern, by Ansible's own rules (docs.ansible.com, "Patterns: targeting hosts
    and groups"). Raise ``CommandError`` when the pattern, or a part of it, matches no machine: a mistyped exclusion
    would exclude nothing."""
    if pattern is None:
        return list(machines)
    if meant := [machine.name for machine in machines if machine.declared == pattern != machine.name]:
        raise CommandError(f"--limit {pattern}: the inventory calls it {meant[0]}", code=Exit.USAGE)
    names = _matching(machines, pattern)
    known = ", ".join(machine.name for machine in machines[:20]) + (", …" if len(machines) > 20 else "")
    if not names:
        raise CommandError(f"--limit {pattern}: no host matches (there are: {known})", code=Exit.USAGE)
    return [machine for machine in machines if machine.name in names]


def _matching(machines: Sequence[OnpremMachine], pattern: str) -> set[str]:
    from ansible import constants  # type: ignore[import-untyped]
    from ansible.errors import AnsibleError  # type: ignore[import-untyped]
    from ansible.inventory.manager import InventoryManager  # type: ignore[import-untyped]
    from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]

    # This setting affects only this process, which just matches patterns. By default Ansible would warn and go on.
    constants.HOST_PATTERN_MISMATCH = "error"
    inventory = InventoryManager(loader=DataLoader(), sources=None, parse=False)
    for group in {GATEWAYS, NODES, *(site_group(machine.site) for machine in machines)}:
        inventory.add_group(group)
    for machine in machines:
        for group in (machine.group, site_group(machine.site)):
            inventory.add_host(machine.name, group)
    inventory.reconcile_inventory()
    try:
        inventory.subset(pattern)
        return {str(host.name) for host in inventory.get_hosts(f"{GATEWAYS}:{NODES}")}
    except AnsibleError as error:
        message = str(error).replace(", ignoring:", ":")
        raise CommandError(f"--limit {pattern}: {message}", code=Exit.USAGE) from error


def batches(machines: Sequence[OnpremMachine], size: MachineShare) -> list[list[OnpremMachine]]:
    """Return the batches. Gateways come first: each of their batches has one gateway of each site and no nodes, so that
    the site's other gateway carries the traffic meanwhile. Then come the nodes, at least one at a time."""
    sites: defaultdict[str, list[OnpremMachine]] = defaultdict(list)
    for machine in machines:
        if machine.group == GATEWAYS:
            sites[machine.site].append(machine)
    turns = [[gateway for gateway in turn if gateway] for turn in zip_longest(*sites.values())]
    nodes = [machine for machine in machines if machine.group == NODES]
    step = max(1, size.of(len(nodes)))
    return [*turns, *(nodes[start : start + step] for start in range(0, len(nodes), step))]
