"""State of one tunnel: whether it is up, the bytes that it carried, and the time of the next dial."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.desired import TunnelState
from lab.hypervisor.vici import Tree

_SHORTEST_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 10.0
"""Longest pause in seconds between two dials of a remote end that refuses the tunnel."""


@dataclass
class Watched:
    """Observed state of one tunnel."""

    up: bool = False
    since: float = 0.0
    pause: float = 0.0
    dial_at: float = 0.0
    """Time of the next dial, on the monotonic clock."""
    totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Bytes in and out of each security association that ever carried the tunnel."""

    def see(self, associations: Sequence[Tree]) -> None:
        """Update the state from the security associations that charon lists under the tunnel's name."""
        up, age = False, 0.0
        for association in associations:
            for child in _children(association):
                if child.get("state") in ("INSTALLED", "REKEYING", "REKEYED"):
                    up, age = True, max(age, float(str(association.get("established", "0"))))
                self.totals[f"{child.get('uniqueid')} {child.get('spi-in')}"] = (
                    _number(child, "bytes-in"),
                    _number(child, "bytes-out"),
                )
        if up:
            self.pause = self.dial_at = 0.0
        if up != self.up:
            self.up, self.since = up, time.time() - (age if up else 0.0)

    def due(self) -> bool:
        """Return whether the caller should dial now; if so, set the time of the next dial."""
        now = time.monotonic()
        if now < self.dial_at:
            return False
        # Both ends may dial, but must not do so in step.
        self.pause = min(2 * self.pause, _LONGEST_PAUSE_S) or _SHORTEST_PAUSE_S
        self.dial_at = now + self.pause * random.uniform(0.8, 1.0)  # noqa: S311
        return True

    def state(self) -> TunnelState:
        """Return the state of the tunnel."""
        total_in, total_out = (sum(pair[index] for pair in self.totals.values()) for index in (0, 1))
        return TunnelState(up=self.up, since=self.since, bytes_in=total_in, bytes_out=total_out)


def _children(association: Tree) -> list[Tree]:
    children = association.get("child-sas")
    return [child for child in children.values() if isinstance(child, dict)] if isinstance(children, dict) else []


def _number(tree: Tree, key: str) -> int:
    text = tree.get(key, "0")
    return int(text) if isinstance(text, str) and text.isdigit() else 0
