"""Network disks of the clouds: folders that outlive the machines in which they are mounted."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from lab.state import LabState


def folder_of(state: LabState, disk: str) -> Path:
    """Return the folder of a network disk; make the folder when the disk is first attached."""
    folder = state.network_disks / disk
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


def remove_all_but(state: LabState, keep: Collection[str]) -> None:
    """Remove all network disks except ``keep``. The clouds refuse to delete a disk while a machine has it."""
    for entry in state.network_disks.iterdir() if state.network_disks.exists() else ():
        if entry.name not in keep:
            shutil.rmtree(entry)
