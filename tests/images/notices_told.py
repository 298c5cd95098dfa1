"""Notices of a cloud, for tests of the node that gets them."""

from __future__ import annotations

from machine.metadata import NotYetError
from node.interruption_notices import Notices


class Told(Notices):
    """Notices that a test gives."""

    def __init__(self) -> None:
        self.ends = self.recommended = ""
        self.failures = self.approved = 0
        self.deletes = False

    def spot(self) -> bool:
        self._fail()
        return True

    def interruption(self) -> str:
        self._fail()
        return self.ends

    def recommendation(self) -> str:
        return self.recommended

    def awaits_approval(self) -> bool:
        return self.deletes

    def approve(self) -> None:
        self.approved += 1

    def _fail(self) -> None:
        self.failures -= 1
        if self.failures >= 0:
            raise NotYetError("no answer")
