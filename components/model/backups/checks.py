"""Checks of section ``backups``."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from components.model.backups import bech32
from components.model.environment import Environment


def check_backups(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each recipient whose checksum is wrong: age refuses it, so no backup would be made."""
    for index, recipient in enumerate(environment.backups.recipients if environment.backups else ()):
        try:
            bech32.decode(recipient)
        except ValueError:
            yield Fault(
                at=("backups", "recipients", index),
                wrong="its checksum is wrong: a letter is mistyped, or it is an example of a document",
                write="the line that `age-keygen -y backup-key.txt` prints",
            )
