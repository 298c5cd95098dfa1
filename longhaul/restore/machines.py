"""Runs steps of a restore on machines of the control plane, in parallel, through their cloud's run command."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from clouds.base.errors import CloudError
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from clouds.base.control import ControlAccess
    from clouds.base.place import Place

Answer = Mapping[str, Any]


class RefusedStepError(Exception):
    """A machine refused a step; the message is the reason."""


@dataclass(frozen=True, kw_only=True)
class PlaceMachines:
    """The machines of a place."""

    control: ControlAccess[Any]
    place: Place[Any]

    def ask(self, machine: str, words: str, *, limit_s: float) -> Answer:
        """Return a machine's answer to ``longhaul-node WORDS``."""
        try:
            output = self.control.run_command(self.place, machine, f"longhaul-node {words}", timeout_s=limit_s)
        except CloudError as error:
            raise RefusedStepError(str(error)) from None
        try:
            answer = json.loads(output.stdout.strip().splitlines()[-1])
        except (ValueError, IndexError):
            lines = (output.stderr or output.stdout).strip().splitlines() or ["it said nothing"]
            raise RefusedStepError(lines[-1]) from None
        if not isinstance(answer, dict):
            raise RefusedStepError(f"it said {answer!r}")
        if answer.get("error"):
            raise RefusedStepError(str(answer["error"]))
        return answer

    def ask_all(self, words: Mapping[str, str], *, limit_s: float) -> dict[str, Answer | RefusedStepError]:
        """Ask several machines in parallel, each with its own words, and return each machine's answer.

        An interrupt ends the wait at once: threads are not waited for, and steps on the machines continue.
        """
        answers: SimpleQueue[tuple[str, Answer | RefusedStepError]] = SimpleQueue()

        def ask(machine: str) -> None:
            try:
                answers.put((machine, self.ask(machine, words[machine], limit_s=limit_s)))
            except RefusedStepError as error:
                answers.put((machine, error))
            except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
                answers.put((machine, RefusedStepError(f"{type(error).__name__}: {error}")))

        for machine in words:
            threading.Thread(target=ask, args=(machine,), daemon=True).start()
        replies = dict(answers.get() for _ in words)
        return {machine: replies[machine] for machine in words}

    def ask_all_or_fail(self, words: Mapping[str, str], *, what: str, limit_s: float) -> dict[str, Answer]:
        """Ask several machines in parallel. Raise ``CommandError`` with each reason when any of them refuses."""
        replies = self.ask_all(words, limit_s=limit_s)
        refused = [f"{name}: {reply}" for name, reply in replies.items() if isinstance(reply, RefusedStepError)]
        if refused:
            raise CommandError(f"{what}: {'; '.join(refused)}")
        return {name: reply for name, reply in replies.items() if not isinstance(reply, RefusedStepError)}
