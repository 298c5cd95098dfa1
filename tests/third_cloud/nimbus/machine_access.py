"""Access of a program on a control plane's machine to Nimbus, which takes whoever its administrator has admitted."""

from __future__ import annotations

from clouds.base.machine_access import OwnAccess


def use(_access: OwnAccess, /) -> None:
    """Do nothing."""
