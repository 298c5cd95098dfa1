"""The engine's own preview, without judgement: as the engine prints it, or counted for programs."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from longhaul.engine.change import exit_code
from longhaul.engine.engine import Engine
from longhaul.engine.preview_counts import Preview, parse_preview
from longhaul.plan.previews import Unseen, lookup_notes, preview_engines
from longhaul.project.context import Context
from longhaul.report.json_output import line
from longhaul.terminal.exits import Exit
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment


def show_raw(
    where: Context,
    environment: Environment,
    rest: Sequence[str],
    *,
    no_objects: str = "",
    as_json: bool = False,
    offline: bool = False,
) -> Exit:
    """Show the engine's preview of both stacks, or its counts with ``as_json``. ``rest`` are words for the engine,
    ``no_objects`` is a reason to leave out the stack of cluster objects; with ``offline``, no plugin is fetched."""
    begun = time.monotonic()
    with preview_engines(where, environment, no_objects=no_objects, offline=offline) as engines:
        for sentence in lookup_notes(environment, engines.stand_ins):
            say(f"{where.env}: {sentence}")
        objects = engines.objects
        if isinstance(objects, Unseen):
            say(f"{objects.stack}: not looked at: {objects.reason}")
        stacks = [engines.infrastructure, *([] if isinstance(objects, Unseen) else [objects])]
        return _counts(stacks, rest, begun) if as_json else _shown(stacks, rest)


def _words(engine: Engine, rest: Sequence[str]) -> list[str]:
    return [*engine.argv("preview", configured=True), "--suppress-outputs", *rest]


def _shown(engines: Sequence[Engine], rest: Sequence[str]) -> Exit:
    """Let each engine print its preview, and stop at the first that fails."""
    codes = (exit_code(engine.run(_words(engine, rest))) for engine in engines)
    return next((code for code in codes if code is not Exit.OK), Exit.OK)


def _counts(engines: Sequence[Engine], rest: Sequence[str], begun: float) -> Exit:
    """Print one line: the counts of the environment's stack, and under ``objects`` the counts of the cluster objects'
    stack."""
    digests = []
    for engine in engines:
        counts = _counted(engine, rest)
        if counts is None:
            return Exit.FAILED
        digests.append(asdict(counts.digest(seconds=time.monotonic() - begun)))
        begun = time.monotonic()
    first, *objects = digests
    print(line({**first, **({"objects": objects[0]} if objects else {})}))
    return Exit.OK


def _counted(engine: Engine, rest: Sequence[str]) -> Preview | None:
    """Return the counts of a stack's preview; None when it failed, after printing its errors."""
    with tempfile.TemporaryFile() as file:
        result = engine.run([*_words(engine, rest), "--json"], stdout=file)
        file.seek(0)
        text = file.read().decode()
    preview = parse_preview(text)
    if result.code == 0 and preview is not None:
        return preview
    for error in preview.errors if preview else [text.strip()]:
        if error:
            print(error, file=sys.stderr)
    if result.interrupted:
        raise KeyboardInterrupt
    return None
