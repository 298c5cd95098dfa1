"""Summary of an engine's run, from the events that the engine logs (pulumi, ``sdk/go/common/apitype/events.go``)."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.engine.preview_counts import GROUPS
from longhaul.report.resource_types import type_name
from longhaul.terminal.progress import awaited, counts

STACK = "pulumi:pulumi:Stack"
"""Type of the stack's own resource."""
PROVIDERS = "pulumi:providers:"
"""Prefix of the types of providers, which the engine creates itself and does not count."""
CERTIFICATE = "Certificate"
"""Short type of a certificate."""
SETTING = "Setting"
"""Short type of a text in the vault that machines read."""
READINESS = "Readiness"
"""Short type of the resource that exists once a machine is ready."""

LISTED = 20
"""Number of changes that are shown by name; later ones are only counted, and the log names them."""
WORDS = {"create": "created", "update": "changed", "replace": "replaced", "delete": "removed", "same": "unchanged"}
"""Words for the groups of operations."""
SHOWN = {"create": "created", "import": "imported", "update": "changed", "create-replacement": "replaced"} | {
    "delete": "removed"
}
"""Words for operations that are shown by name. Of a replacement, only the last part is shown."""

GENERIC = re.compile(r"^(update|preview|destroy|refresh) (failed|canceled)$|^resource monitor shut ?down")
"""Errors that only say that another error happened."""
ON_PATH = re.compile(r"^using \S+ from \$PATH at ")
"""Warning about a plugin that was found on ``PATH``, which is intended: the lab's stand-ins, a user's own build."""

COLOUR = re.compile(r"<\{%.*?%\}>")
"""Colour tag in a message; the engine replaces it on its terminal."""


@dataclass(frozen=True, kw_only=True)
class EngineDiagnostic:
    """An error of the engine, of a provider or of the program."""

    urn: str
    message: str


class EngineEvents:
    """Summary of one run. ``shown`` holds the messages that earlier runs showed; this run adds its own. With None, no
    message is shown."""

    def __init__(self, *, shown: set[str] | None) -> None:
        self.errors: list[EngineDiagnostic] = []
        self.running: dict[str, float] = {}
        """Start times of the operations under way, by the resource's name and type; of the clock ``time.monotonic``."""
        self.renewed: list[str] = []
        """Certificates that were issued anew, and texts in the vault that changed."""
        self._shown = shown
        self._operations: dict[str, str] = {}
        self._done: Counter[str] = Counter()
        self._summed: Mapping[str, int] | None = None
        self._looked = 0
        self._listed = 0
        self._new = False
        self._planning = False

    def take(self, event: Mapping[str, Any]) -> Iterator[str]:
        """Add an event; yield lines to show."""
        if "preludeEvent" in event:
            self._begin()
        elif "resourcePreEvent" in event:
            self._start(event["resourcePreEvent"])
        elif "resOutputsEvent" in event:
            yield from self._end(event["resOutputsEvent"]["metadata"])
        elif "resOpFailedEvent" in event:
            self.running.pop(_label(event["resOpFailedEvent"]["metadata"]), None)
        elif "summaryEvent" in event:
            self._summed = event["summaryEvent"].get("resourceChanges") or {}
        elif "diagnosticEvent" in event:
            yield from self._say(event["diagnosticEvent"])

    def state(self) -> str:
        """Return as text how many operations are done and what is under way."""
        done = counts(self.counts())
        if self._planning:
            return f"previewing, {self._looked} resources so far"
        if not self._looked:
            return "the engine starts, and the program is loaded"
        if not done:
            done = f"reading existing resources, {self._looked} so far"
        return f"{done}; {awaited(self.running)}" if self.running else done

    def counts(self) -> dict[str, int]:
        """Return the number of resources by what happened to them, such as ``created``. A replacement counts once."""
        sums = self._done if self._summed is None else self._summed
        return {WORDS[group]: sum(sums.get(name, 0) for name in names) for group, names in GROUPS.items()}

    def _begin(self) -> None:
        """Begin another operation, such as the update after its preview."""
        self.running.clear()
        self._operations.clear()
        self._done.clear()
        self._summed, self._looked, self._planning = None, 0, False

    def _start(self, payload: Mapping[str, Any]) -> None:
        metadata = payload["metadata"]
        self._planning = bool(payload.get("planning"))
        self._looked += 1
        self._operations[metadata["urn"]] = metadata["op"]
        if metadata["type"] == STACK:
            self._new = metadata["op"] == "create"
        if _is_custom(metadata) and metadata["op"] != "same":
            self.running[_label(metadata)] = time.monotonic()

    def _end(self, metadata: Mapping[str, Any]) -> Iterator[str]:
        # A refresh ends with another operation: the one that it detected.
        begun_as = self._operations.pop(metadata["urn"], metadata["op"])
        took = time.monotonic() - self.running.pop(_label(metadata), time.monotonic())
        if begun_as == "refresh" or self._planning:
            return
        if metadata.get("logical") and not metadata["type"].startswith(PROVIDERS):
            self._done[metadata["op"]] += 1
        if _kind(metadata) in (CERTIFICATE, SETTING) and metadata["op"] in ("update", "create-replacement"):
            self.renewed.append(_name(metadata))
        if metadata["op"] in SHOWN and _is_custom(metadata):
            yield from self._list(metadata, took)

    def _list(self, metadata: Mapping[str, Any], took: float) -> Iterator[str]:
        """Yield a line about a change. For a new stack, only its machines are shown."""
        if _kind(metadata) == READINESS and metadata["op"] != "delete":
            yield f"{_name(metadata).removesuffix('-ready')} is ready, after {took:.0f} s"
        elif not self._new:
            self._listed += 1
            if self._listed <= LISTED:
                yield f"{_label(metadata)} {SHOWN[metadata['op']]}, {took:.0f} s"
            elif self._listed == LISTED + 1:
                yield "further changes are counted; the log names each"

    def _say(self, diagnostic: Mapping[str, Any]) -> Iterator[str]:
        severity, urn = diagnostic.get("severity"), str(diagnostic.get("urn", ""))
        message = COLOUR.sub("", str(diagnostic.get("message", ""))).strip()
        if severity not in ("warning", "error") or GENERIC.search(message) or ON_PATH.search(message):
            return
        if severity == "error":
            self.errors.append(EngineDiagnostic(urn=urn, message=message))
        line = _quoted(severity, _of_urn(urn), message)
        if self._shown is not None and line not in self._shown:
            self._shown.add(line)
            yield line


def _quoted(severity: str, label: str, message: str) -> str:
    """Return a message in full; a message of several lines gets lines of its own."""
    between = "\n" if "\n" in message else " "
    return f"{severity}{f': {label}' if label else ''}:{between}{message}"


def _of_urn(urn: str) -> str:
    """Return the name and the short type of a resource; empty for the stack itself."""
    parts = urn.split("::", 3)
    if len(parts) < 4 or parts[2] == STACK:
        return ""
    return _label({"urn": urn, "type": parts[2].rpartition("$")[2]})


def _label(metadata: Mapping[str, Any]) -> str:
    return f"{_name(metadata)} ({type_name(str(metadata['type']))})"


def _name(metadata: Mapping[str, Any]) -> str:
    return str(metadata["urn"].split("::", 3)[3])


def _kind(metadata: Mapping[str, Any]) -> str:
    """Return the last part of the type's token, which people may see under another name."""
    return str(metadata["type"].rpartition(":")[2])


def _is_custom(metadata: Mapping[str, Any]) -> bool:
    """Return whether a provider makes the resource. Components only group other resources."""
    state = metadata.get("new") or metadata.get("old") or {}
    return bool(state.get("custom")) and not metadata["type"].startswith(PROVIDERS)
