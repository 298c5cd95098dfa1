"""Text about the steps of a quarantine, shown before they run, and the outcome for programs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clouds.base.phrases import counted
from contract.documents.quarantine import TOKENS, format_time

if TYPE_CHECKING:
    from contract.documents.quarantine import Quarantined
    from longhaul.machine.quarantine.node import NodeExposure
    from longhaul.machine.quarantine.target import PoolMachine

SHOWN = 20
"""Number of Secrets that the text names; ``--json`` has all."""


def step_lines(
    entry: Quarantined, machine: PoolMachine | None, exposure: NodeExposure, *, sites: Collection[str]
) -> list[str]:
    """Return a line for each step of the run, and for what people have to do afterwards. ``sites`` are the sites of the
    environment's file."""
    if machine is not None:
        of_it, cloud = f"of pool {entry.pool} in {entry.site}", machine.cloud.consequences()
    elif entry.gone:
        of_it, cloud = "which is no machine of a pool and no host", GONE
    elif entry.site not in sites:
        of_it, cloud = f"of {entry.site}, a site that the file no longer has", LEFT
    else:
        of_it, cloud = f"a host of {entry.site}", HOST
    lines = [
        f"{entry.name}, {of_it}, goes into quarantine:",
        "- every API server refuses its certificate, and ends open requests: the API servers are restarted one "
        "after the other, so watches and `kubectl exec` of others are interrupted too",
        "- no certificate is renewed for its name, and it cannot join again",
        f"- {counted(len(exposure.pods), 'pod')} of it are deleted at once, despite disruption budgets; "
        "controllers recreate theirs elsewhere. Finalizers that remain on them and on the Node are removed",
        f"- the run ends when no tokens of their accounts are accepted any more, {TOKENS.seconds} s after the last pod",
        *(f"- {line}" for line in cloud),
    ]
    if exposure.accounts:
        lines.append(
            f"an attacker with root on it could act as {_some(exposure.accounts)}: the audit log shows what these "
            "accounts did"
        )
    if exposure.secrets:
        lines.append(
            f"and knows {counted(len(exposure.secrets), 'Secret')} of its present pods, which have to be changed: "
            f"{_some(exposure.secrets)}. Those of earlier pods are in the audit log: `get` of Secrets by "
            f"system:node:{entry.name}"
        )
    return lines


GONE = (
    "nothing is cut off, kept or replaced: if its machine runs on outside its group, end it yourself",
    "check the name: a machine that gets it later is refused as well",
)
LEFT = (
    "its site's cloud, gateways and hosts are left alone: an earlier run's unfinished steps stay unfinished. "
    "If its machine runs on, end it yourself",
)
HOST = (
    "to cut it off, write `quarantined: true` into its entry in the hosts file, then run `longhaul hosts`: "
    "the gateways and the other hosts of its site then drop its packets. It can still take a neighbour's "
    "address there, so disconnect it from its switch and its RDMA fabric, or power it off",
    "its machine and its disks stay as they are; nothing takes its place",
)


def release_lines(entry: Quarantined, machine: PoolMachine | None) -> list[str]:
    """Return a line for each step that ends a quarantine."""
    kept = ", ".join(entry.kept if machine else ()) or "nothing"
    return [
        f"the quarantine of {entry.name} ends:",
        f"- deleted for good: {kept}",
        f"- its name stays refused until {entry.refused_until():%Y-%m-%d %H:%M} UTC",
    ]


def document(entry: Quarantined, exposure: NodeExposure | None) -> dict[str, Any]:
    """Return the outcome as plain values for programs."""
    void = entry.tokens_void()
    return {
        "machine": asdict(entry),
        "known": asdict(exposure) if exposure else None,
        "tokens_void": format_time(void) if void else None,
    }


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
