"""Older environment formats, brought to the one this code reads.

Each step takes the raw mapping of one format to the next; a file is read as its own format says and never rewritten.
To change the format: raise ``FORMAT``, add the step here, keep the old file as a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clouds.base.fault import Fault
from components.model.environment import FORMAT
from components.model.words import show

Raw = dict[str, Any]
Steps = Mapping[int, Callable[[Raw], Raw]]


class FormatError(Exception):
    """The environment is of a format that this release cannot read; nothing else can be said of it."""

    def __init__(self, finding: Fault) -> None:
        super().__init__(finding.wrong)
        self.finding = finding


def steps() -> Steps:
    """Step by the format it starts from. Format 1 is the first."""
    return {}


def migrate(raw: Raw, *, steps: Steps, current: int = FORMAT) -> Raw:
    """``raw`` in the format ``current``; ``FormatError`` when no step leads there. Without a format it is left as it
    is: that it lacks one is found with everything else."""
    if "format" not in raw:
        return raw
    version = raw["format"]
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= current:
        raise FormatError(_unreadable(version, current))
    while version < current:
        raw = {**steps[version](raw), "format": version + 1}
        version += 1
    return raw


def _unreadable(version: object, current: int) -> Fault:
    readable = str(current) if current == 1 else f"1 to {current}"
    if isinstance(version, int) and not isinstance(version, bool) and version > current:
        wrong = f"{version} is newer than this release, which reads {readable}"
        write = f"{current}, or use the release that the file was written for"
    else:
        wrong, write = f"{show(version)} is not a format; this release reads {readable}", str(current)
    return Fault(at=("format",), wrong=wrong, write=write)
