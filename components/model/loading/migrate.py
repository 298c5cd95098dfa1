"""Migration of older environment formats to the one that this code reads.

Each step turns the raw mapping of one format into the next. A file is read by its own format and never rewritten. To
change the format: raise ``FORMAT``, add the step here, keep the old file as a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clouds.base.fault import Fault
from components.model.environment import FORMAT
from components.model.loading.messages import show

Raw = dict[str, Any]
Steps = Mapping[int, Callable[[Raw], Raw]]


class FormatError(Exception):
    """The environment has a format that this release cannot read, so that nothing else of it can be checked."""

    def __init__(self, finding: Fault) -> None:
        super().__init__(finding.wrong)
        self.finding = finding


def steps() -> Steps:
    """Return each step by the format it starts from. There is none yet: format 1 is the first."""
    return {}


def migrate(raw: Raw, *, steps: Steps, current: int = FORMAT) -> Raw:
    """Return ``raw`` in the format ``current``; raise ``FormatError`` when no step leads there. Without a format it is
    returned as it is: validation reports that together with everything else."""
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
