"""Access of a program on a control plane's machine to on-premises sites: no cloud is asked there."""

from __future__ import annotations

from clouds.base.machine_access import MachineAccess


def use(_access: MachineAccess, /) -> None:
    """Do nothing."""
