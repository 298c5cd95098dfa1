"""Access of a program on a control plane's machine to on-premises sites: no cloud is asked there."""

from __future__ import annotations

from clouds.base.machine_access import OwnAccess


def use(_access: OwnAccess, /) -> None:
    """Do nothing."""
